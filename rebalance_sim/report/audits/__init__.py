"""What a page shows of audits: what to do, all groups, and the details of some."""
