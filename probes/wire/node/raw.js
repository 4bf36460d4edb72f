// One HTTP request to the byte, over Node's own TLS: what node:https would dial, with the head as it is given.
'use strict';
const fs = require('node:fs');
const net = require('node:net');
const tls = require('node:tls');
const { reporter, watch } = require('./sockets.js');

const report = reporter(Number(process.argv[2]));
const job = JSON.parse(fs.readFileSync(0, 'utf8'));
const read = (path) => (path ? fs.readFileSync(path) : undefined);

watch(report, job.dialled);
const options = { host: job.host, port: job.port, noDelay: true };
const socket = job.secure
  ? tls.connect({
      ...options,
      ALPNProtocols: ['http/1.1'],
      servername: net.isIP(job.host) ? '' : job.host,
      cert: read(job.cert),
      key: read(job.key || job.cert),
    })
  : net.connect(options);
socket.on(job.secure ? 'secureConnect' : 'connect', () => socket.write(Buffer.from(job.bytes, 'base64')));
socket.on('data', () => {});
socket.on('error', () => {});
