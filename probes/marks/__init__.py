"""What was changed, as a person or a CDN's audit log says it, and which rule of the CDN refused a request?"""
