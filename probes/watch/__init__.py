"""What is due, who runs it, and who watches the watcher?"""
