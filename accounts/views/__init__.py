"""The pages of accounts, thin: one file for each kind."""
