"""Reports of content and readers, decisions about them with their reasons, and appeals.

The procedure is that of articles 16, 17 and 20 of the Digital Services Act (Regulation (EU) 2022/2065). SQL alone
stores everything: there are few rows, and staff read most of them.
"""
