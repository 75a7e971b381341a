import { ServerResponse, type IncomingMessage } from "node:http";
import { Duplex } from "node:stream";
// Not by the package's door: this file is loaded before Next, and into each of its helper processes.
import { answerRaw } from "../../server/platform/upgrades.ts";
import { lengthHeader } from "../../server/platform/addresses.ts";

/** As Node itself does in answer to HEAD: what is written goes nowhere, since it would stand before the connection's next answer. */
function dropBody(answer: ServerResponse): void {
  const end = answer.end.bind(answer);
  const callbackOf = (args: readonly unknown[]) =>
    args.find((arg): arg is () => void => typeof arg === "function");
  answer.write = (...args: readonly unknown[]) => {
    const written = callbackOf(args);
    if (written) queueMicrotask(written);
    return true;
  };
  answer.end = (...args: readonly unknown[]) => end(callbackOf(args));
}

/**
 * Pages and files are read alone. Next fails at other methods, or shows the page: so it is asked by HEAD whether there is such
 * an address, and the answer is 405, or 204 to OPTIONS, with what can be done.
 */
function readAlone(request: IncomingMessage, answer: ServerResponse): void {
  const { method } = request;
  request.method = "HEAD";
  dropBody(answer);
  const writeHead = answer.writeHead.bind(answer);
  answer.writeHead = (status: number) => {
    const isThere = status !== 404 && status < 500;
    for (const name of answer.getHeaderNames())
      if (/^(content-|etag$|location$|x-next|link$|set-cookie$)/.test(name)) answer.removeHeader(name);
    answer.setHeader("content-length", "0");
    if (isThere) answer.setHeader("allow", "GET, HEAD, OPTIONS");
    return writeHead(isThere ? (method === "OPTIONS" ? 204 : 405) : status);
  };
}

/** How long the beginning of a page may wait for the rest. */
const gatheredMs = 100;

/**
 * Sends a page that is soon complete in one piece. Its frame comes before what the database says, and a browser that has the frame alone
 * asks for all its scripts first: the pictures, which are seen sooner, then wait behind them.
 */
function gatherPage({ headers, socket }: IncomingMessage, answer: ServerResponse): void {
  if (!headers.accept?.includes("text/html")) return;
  socket.cork();
  const timer = setTimeout(() => socket.uncork(), gatheredMs);
  // By then Node itself has sent all of it.
  answer.once("close", () => clearTimeout(timer));
}

/** A page, or a file of the pages. */
export function servePage(request: IncomingMessage, answer: ServerResponse): void {
  gatherPage(request, answer);
  if (request.method !== "GET" && request.method !== "HEAD") readAlone(request, answer);
}

/** Gives answers of handlers their length, by which browsers show how far a download is; what is packed on its way has another one. */
export function keepLength(answer: ServerResponse): void {
  const writeHead = answer.writeHead.bind(answer);
  answer.writeHead = (status: number, ...rest: readonly unknown[]) => {
    const length = answer.getHeader(lengthHeader);
    answer.removeHeader(lengthHeader);
    if (length !== undefined && !answer.hasHeader("content-encoding"))
      answer.setHeader("content-length", length);
    return Reflect.apply(writeHead, answer, [status, ...rest]);
  };
}

/** What Next can hand on; of others its own server fails before any handler is asked. */
export const handedOn = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

const ofServer = [...handedOn].join(", ");

/** `OPTIONS *` asks about the server as a whole. */
export function answerServer(answer: ServerResponse): void {
  answer.writeHead(204, { allow: ofServer, "cache-control": "no-store" });
  answer.end();
}

export interface Refusal {
  readonly status: 400 | 421;
  readonly text: string;
}

export function refuse(answer: unknown, { status, text }: Refusal): void {
  if (answer instanceof ServerResponse) {
    answer.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" });
    answer.end(text);
  } else if (answer instanceof Duplex) {
    answerRaw(answer, { status });
  }
}
