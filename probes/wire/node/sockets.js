// What do the sockets of this program do? Reports each event as a line of JSON to the descriptor given, with the plain
// bytes that pass, whatever HTTP library moves them: every one of them connects through net.Socket.
'use strict';
const fs = require('node:fs');
const net = require('node:net');
const { errorMonitor } = require('node:events');

let began = process.hrtime.bigint();
let count = 0;
const seen = new WeakSet();

const seconds = () => Number(process.hrtime.bigint() - began) / 1e9;

function reporter(descriptor) {
  return (event) => {
    let left = Buffer.from(JSON.stringify(event) + '\n');
    while (left.length) left = left.subarray(fs.writeSync(descriptor, left));
  };
}

const bytes = (chunk, encoding) =>
  (typeof chunk === 'string' ? Buffer.from(chunk, encoding || 'utf8') : Buffer.from(chunk)).toString('base64');

// `dialled`: {host, port, family} to be used in place of what the program names.
function watch(report, dialled = {}) {
  began = process.hrtime.bigint();
  report({ e: 'ready', t: 0 });
  const connect = net.Socket.prototype.connect;
  net.Socket.prototype.connect = function (...args) {
    if (seen.has(this)) return connect.apply(this, args);
    seen.add(this);
    const tell = observe(this, report);
    redirect(args, dialled);
    const connecting = connect.apply(this, args);
    observeWrites(this, tell); // only now: connect puts the prototype's own in their place
    return connecting;
  };
}

// The arguments as net.connect has put them into a list, or as its caller wrote them.
function redirect(args, dialled) {
  const held = Array.isArray(args[0]) ? args[0] : args;
  if (held[0] !== null && typeof held[0] === 'object') {
    held[0] = { ...held[0], ...Object.fromEntries(Object.entries(dialled).filter(([, value]) => value)) };
  }
}

function observe(socket, report) {
  const s = (count += 1);
  const tell = (e, more = {}) => report({ s, e, t: seconds(), ...more });
  tell('dial', { tls: typeof socket.getPeerCertificate === 'function' });
  socket.on('lookup', (error) => error || tell('lookup'));
  socket.on('connect', () => tell('connect', { host: socket.remoteAddress, port: socket.remotePort }));
  socket.on('secureConnect', () => tell('secure', secured(socket)));
  socket.on(errorMonitor, (error) => tell('error', { code: error.code, text: said(error) }));
  socket.on('close', () => tell('close'));
  const { push } = socket;
  socket.push = function (chunk, encoding) {
    if (chunk === null) tell('end');
    else if (chunk.length) tell('read', { d: bytes(chunk, encoding) });
    return push.call(this, chunk, encoding);
  };
  return tell;
}

function observeWrites(socket, tell) {
  const { write, end } = socket;
  socket.write = function (chunk, encoding, done) {
    const called = typeof encoding === 'function' ? encoding : done;
    const named = typeof encoding === 'string' ? encoding : undefined;
    if (chunk.length) tell('wrote', { d: bytes(chunk, named) });
    return write.call(this, chunk, named, (error) => {
      if (!error) tell('taken');
      if (called) called(error);
    });
  };
  socket.end = function (chunk, ...more) {
    if (chunk && typeof chunk !== 'function') {
      this.write(chunk, ...more);
      return end.call(this);
    }
    return end.call(this, chunk, ...more);
  };
}

function secured(socket) {
  const certificate = socket.getPeerCertificate() || {};
  const issuer = certificate.issuer || {};
  return {
    version: socket.getProtocol(),
    cipher: socket.getCipher()?.name,
    alpn: socket.alpnProtocol || null,
    issuer: issuer.O || issuer.CN || null,
    until: certificate.valid_to ? Date.parse(certificate.valid_to) : null,
  };
}

// Of several addresses that all failed, the last one's.
function said(error) {
  const last = error.errors?.length ? error.errors[error.errors.length - 1] : error;
  return String(last.message || last.code || last);
}

module.exports = { reporter, watch, seconds };
