import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { parseFlags } from "./flags.ts";

const usage = "Usage: ATELIER_API_KEY=<key> atelier mcp [--url http://localhost:3000]";

/**
 * `atelier mcp`: hands the messages of a program that speaks MCP on stdin and stdout to `/mcp` of a studio, and its answers
 * back. It needs no database: the studio may be on another machine. Ends when stdin does.
 */
export async function mcp(args: string[]): Promise<number> {
  const options = { url: { type: "string", default: "http://localhost:3000" } } as const;
  const flags = parseFlags({ args, options, required: [], usage });
  if (!flags) return 1;
  const url = URL.parse("/mcp", flags.url);
  const key = process.env["ATELIER_API_KEY"];
  if (!url || !key) {
    // Standard output is for messages alone.
    console.error(`${url ? "ATELIER_API_KEY is not set." : "The address is no URL."}\n${usage}`);
    return 1;
  }
  await bridge(
    new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization: `Bearer ${key}` } } }),
  );
  return 0;
}

async function bridge(studio: StreamableHTTPClientTransport): Promise<void> {
  const program = new StdioServerTransport();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  studio.onmessage = (message) => {
    noteVersion(studio, message);
    void program.send(message);
  };
  studio.onerror = (error) => console.error(error.message);
  program.onmessage = (message) => {
    studio.send(message).catch((error: unknown) => answerFailure(program, message, error));
  };
  program.onclose = end;
  process.stdin.once("end", end);
  await studio.start();
  await program.start();
  await ended;
  await studio.close();
  await program.close();
}

/** Requests after the first one name the version that was agreed on. */
function noteVersion(studio: StreamableHTTPClientTransport, message: JSONRPCMessage): void {
  if (!("result" in message)) return;
  const { protocolVersion } = message.result;
  if (typeof protocolVersion === "string") studio.setProtocolVersion(protocolVersion);
}

/** A request that did not reach the studio gets an answer all the same. */
async function answerFailure(
  program: StdioServerTransport,
  message: JSONRPCMessage,
  error: unknown,
): Promise<void> {
  const text = error instanceof Error ? error.message : String(error);
  console.error(text);
  if (!("id" in message) || !("method" in message)) return;
  await program.send({ jsonrpc: "2.0", id: message.id, error: { code: -32_000, message: text } });
}
