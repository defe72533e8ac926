// server.mjs - a server of HTTPS for the network's figures: a small answer to each request; prints its port.
//   node server.mjs KEY CERTIFICATE
import fs from "node:fs";
import https from "node:https";

const [, , key, cert] = process.argv;
const server = https.createServer({ key: fs.readFileSync(key), cert: fs.readFileSync(cert), keepAliveTimeout: 60000 }, (request, response) => {
  if (request.url === "/close") response.setHeader("Connection", "close");
  response.end("a small answer\n");
});
server.listen(0, "127.0.0.1", 1000, () => console.log(server.address().port));
