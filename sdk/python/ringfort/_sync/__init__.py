"""Made from _async/__init__.py by make_sync.py: change that one."""
