"""Services that write: reports, decisions and appeals."""
