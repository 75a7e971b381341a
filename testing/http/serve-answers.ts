import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface SeenRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export type GivenAnswer =
  | {
      readonly status?: number;
      readonly type?: string;
      readonly body?: string;
      readonly location?: string;
      readonly headers?: Readonly<Record<string, string>>;
      /** The connection breaks behind the body, before it is marked as ended. */
      readonly isCut?: boolean;
    }
  /** Reads the request and never answers. */
  | "hang"
  /** Cuts the connection. */
  | "reset";

export interface AnswerServer {
  readonly url: string;
  readonly requests: readonly SeenRequest[];
  close(): Promise<void>;
}

/** A plain HTTP server on a free port of 127.0.0.1 that answers what `answer` says. */
export async function serveAnswers(answer: (request: SeenRequest) => GivenAnswer): Promise<AnswerServer> {
  const requests: SeenRequest[] = [];
  const reply = async (incoming: IncomingMessage, response: ServerResponse) => {
    const request = await readRequest(incoming);
    requests.push(request);
    const given = answer(request);
    if (given === "hang") return;
    if (given === "reset") return void incoming.socket.resetAndDestroy();
    const { status = 200, type = "application/json", body = "", location, headers, isCut = false } = given;
    response.writeHead(status, { "content-type": type, ...(location ? { location } : {}), ...headers });
    if (isCut) response.write(body, () => response.destroy());
    else response.end(body);
  };
  const server = createServer((incoming, response) => {
    // A caller that left while it sent has nobody to answer.
    reply(incoming, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readRequest(incoming: IncomingMessage): Promise<SeenRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const { method = "", url: path = "", headers } = incoming;
  return { method, path, headers, body: Buffer.concat(chunks).toString("latin1") };
}
