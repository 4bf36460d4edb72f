// One call through an SDK for Node of a version of its own, or through Node's own fetch. What its sockets do is reported;
// nothing in the SDK is replaced. The job, with the key, is JSON on standard input.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { reporter, watch } = require('./sockets.js');

const SHOWN = 300;
const report = reporter(Number(process.argv[2]));
const job = JSON.parse(fs.readFileSync(0, 'utf8'));
const spread = ({ extra_body: extra = {}, ...rest }) => ({ ...rest, ...extra });

// A module of the folder itself imports: what a package exports may be for `import` alone.
async function load(name) {
  const door = await import(pathToFileURL(path.join(job.folder, 'door.mjs')));
  return door.load(name);
}

function version() {
  if (job.package === 'fetch') return process.versions.node;
  const own = path.join(job.folder, 'node_modules', ...job.package.split('/'), 'package.json');
  return JSON.parse(fs.readFileSync(own, 'utf8')).version;
}

const settings = () => ({
  apiKey: job.key,
  baseURL: job.base_url,
  maxRetries: 0,
  ...(Object.keys(job.headers).length ? { defaultHeaders: job.headers } : {}),
});

async function joined(stream, text) {
  let [count, kept] = [0, ''];
  for await (const event of stream) {
    count += 1;
    if (kept.length < SHOWN) kept += text(event) || '';
  }
  return `${count} chunks: ${kept.slice(0, SHOWN)}`;
}

const CLIENTS = {
  async openai() {
    const { default: OpenAI } = await load('openai');
    const sdk = new OpenAI(settings());
    return async () => {
      if (job.endpoint === 'models') return `models: ${JSON.stringify(await sdk.models.list())}`;
      const resource = job.endpoint === 'responses' ? sdk.responses : sdk.chat.completions;
      const answer = await resource.create(spread(job.arguments));
      if (job.streamed) {
        return joined(answer, (event) => (event.choices ? event.choices[0]?.delta?.content : event.delta));
      }
      return answer.choices ? answer.choices[0].message.content : (answer.output_text ?? answer);
    };
  },
  async '@anthropic-ai/sdk'() {
    const { default: Anthropic } = await load('@anthropic-ai/sdk');
    const sdk = new Anthropic(settings());
    return async () => {
      if (job.endpoint === 'models') return `models: ${JSON.stringify(await sdk.models.list())}`;
      const answer = await sdk.messages.create(spread(job.arguments));
      if (job.streamed) return joined(answer, (event) => event.delta?.text);
      return answer.content ? answer.content.map((block) => block.text ?? '').join('') : answer;
    };
  },
  async ai() {
    const name = job.api === 'anthropic' ? 'Anthropic' : 'OpenAI';
    const [ai, made] = await Promise.all([load('ai'), load(`@ai-sdk/${name.toLowerCase()}`)]);
    // Its provider takes Anthropic's base URL with the version in it, as OpenAI's.
    const baseURL = job.api === 'anthropic' ? `${job.base_url.replace(/\/+$/, '')}/v1` : job.base_url;
    const provider = made[`create${name}`]({ apiKey: job.key, baseURL, headers: job.headers });
    const { max_tokens: most, max_completion_tokens: also, messages } = job.arguments;
    const cap = most ?? also;
    const asked = {
      model: job.endpoint === 'chat' ? provider.chat(job.model) : provider(job.model),
      messages,
      maxRetries: 0,
      maxTokens: cap,
      maxOutputTokens: cap,
    };
    return async () => {
      if (!job.streamed) return (await ai.generateText(asked)).text;
      const { fullStream } = ai.streamText({ ...asked, onError: () => {} });
      return joined(fullStream, (part) => {
        if (part.type === 'error') throw part.error;
        return part.type === 'text-delta' ? (part.text ?? part.textDelta ?? part.delta) : '';
      });
    };
  },
  async fetch() {
    return async () => {
      const answer = await fetch(job.url, {
        method: job.method,
        headers: job.plain,
        body: job.method === 'POST' ? job.body : undefined,
      });
      const text = await answer.text();
      return `Response: ${answer.status}, ${text.length} characters`;
    };
  },
};

function raised(error) {
  const name = error?.constructor?.name || 'Error';
  const cause = error?.cause ? `: ${error.cause.code || error.cause.message || ''}` : '';
  return [`${job.package}.${name}`, `${error?.message ?? error}${cause}`];
}

(async () => {
  const said = { e: 'result', returned: null, raised: null };
  try {
    const call = await CLIENTS[job.package]();
    watch(report, job.dialled);
    report({ e: 'version', version: version() });
    const answer = await call();
    const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
    said.returned = `${typeof answer}: ${String(text).slice(0, SHOWN)}`;
  } catch (error) {
    said.raised = raised(error);
  }
  report(said);
  process.exit(0);
})();
