"""How is every byte of a request seen, whatever it is?"""

import re
import socketserver
import threading
from contextlib import contextmanager

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"


@contextmanager
def serving(answer=ANSWER):
    """A server on the loopback that keeps each request as it came, in `requests`, and gives one answer."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            raw = b""
            while b"\r\n\r\n" not in raw:
                raw += (data := self.request.recv(65536))
                if not data:
                    return
            head, _, body = raw.partition(b"\r\n\r\n")
            size = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
            while size and len(body) < int(size[1]):
                body += self.request.recv(65536)
            self.server.requests.append(head + b"\r\n\r\n" + body)
            self.wfile.write(answer)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.requests = []
        server.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
