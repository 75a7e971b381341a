/** An answer before it goes over the wire. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

/** What JavaScript makes of the largest seed, and what it is. */
const rounded = "18446744073709552000";
const largestSeed = "18446744073709551615";

/** JSON as aiohttp sends it. */
export function json(value: unknown, status = 200): Answer {
  const headers = { "content-type": "application/json; charset=utf-8" };
  return { status, headers, body: JSON.stringify(value).replaceAll(rounded, largestSeed) };
}

/** No body and no type, as aiohttp's bare responses are. */
export function empty(status: number): Answer {
  return { status, body: "" };
}

/** What the static files answer to a path that leads nowhere. */
export const unknownPath: Answer = {
  status: 404,
  headers: { "content-type": "application/octet-stream" },
  body: "",
};

/** Plain text. */
export function text(status: number, body: string): Answer {
  return { status, headers: { "content-type": "text/plain; charset=utf-8" }, body };
}

const trouble = text(500, "500 Internal Server Error\n\nServer got itself in trouble");

/** What an exception in a handler leads to. */
export const serverTrouble: Answer = { ...trouble, headers: { ...trouble.headers, connection: "close" } };

/** The server's own limit of bodies. */
export const bodyTooLarge = text(413, "Maximum request body size 104857600 exceeded.");

const phrases: Readonly<Record<number, string>> = {
  401: "Authorization Required",
  413: "Request Entity Too Large",
  502: "Bad Gateway",
  503: "Service Temporarily Unavailable",
  504: "Gateway Time-out",
};

/** An error page as nginx writes it. */
export function proxyPage(status: number): Answer {
  const title = `${status} ${phrases[status] ?? "Error"}`;
  const body = [
    "<html>",
    `<head><title>${title}</title></head>`,
    "<body>",
    `<center><h1>${title}</h1></center>`,
    "<hr><center>nginx/1.22.1</center>",
    "</body>",
    "</html>",
    "",
  ].join("\r\n");
  return { status, headers: { "content-type": "text/html", server: "nginx/1.22.1" }, body };
}
