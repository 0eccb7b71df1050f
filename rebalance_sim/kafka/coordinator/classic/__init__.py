"""The classic protocol: JoinGroup, SyncGroup, Heartbeat and LeaveGroup."""
