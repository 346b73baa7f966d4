"""Reports about logins: the staff report, the reader's calendar and the dashboard."""
