"""How does a database of an earlier edgeprobe become one of this?"""
