"""backend.py - git http-backend as a server's handler: repositories below `server.folder`, read and written by those who may."""
import base64
import http.server
import os
import subprocess


class Backend(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def may(self):
        """Where the server has an `account` (NAME:PASSWORD) or a `token`, for those that bring it."""
        given, wanted = self.headers.get("Authorization"), []
        if hasattr(self.server, "account"):
            wanted.append("Basic " + base64.b64encode(self.server.account.encode()).decode())
        if hasattr(self.server, "token"):
            wanted.append("Bearer " + self.server.token)
        return not wanted or given in wanted

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        pieces = []
        while length := int(self.rfile.readline(), 16):
            pieces.append(self.rfile.read(length))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def environment(self):
        path, _, query = self.path.partition("?")
        return {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(self.server.folder), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
                "QUERY_STRING": query, "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
                "GIT_CONFIG_KEY_1": "http.receivepack", "GIT_CONFIG_VALUE_1": "true"}

    def answer(self):
        body = self.body()
        if not self.may():
            return self.give(401, {"WWW-Authenticate": 'Basic realm="repositories"'})
        done = subprocess.run(["git", "http-backend"], input=body, env=self.environment(), capture_output=True, check=False)
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
        return self.give(int(fields.pop("Status", "200").split()[0]), fields, answer)

    def give(self, status, fields, body=b""):
        self.send_response(status)
        for name, value in {**fields, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass
