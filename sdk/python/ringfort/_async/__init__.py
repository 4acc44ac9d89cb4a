"""The client, for programs with an event loop of asyncio.  _sync is made from this folder: see make_sync.py."""
