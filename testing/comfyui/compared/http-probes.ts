import type { Probe } from "./play.ts";

const boundary = "a-boundary-that-no-part-of-these-forms-has";
const formType = { "content-type": `multipart/form-data; boundary=${boundary}` };

interface Part {
  readonly name: string;
  readonly filename?: string;
  readonly value: string;
}

function form(call: string, parts: readonly Part[]): Probe {
  const texts = parts.map(({ name, filename, value }) => {
    const file = filename === undefined ? "" : `; filename="${filename}"`;
    return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`;
  });
  const title = parts.map(
    ({ name, filename = "", value }) => `${name}=${filename}${filename && ":"}${value}`,
  );
  return { call, title: title.join(" "), headers: formType, body: `${texts.join("")}--${boundary}--\r\n` };
}

const upload = (filename: string, more: readonly Part[] = []) =>
  form("POST /upload/image", [{ name: "image", filename, value: "some bytes" }, ...more]);

const mask = (reference: string) =>
  form("POST /upload/mask", [
    { name: "image", filename: "m.png", value: "no picture" },
    { name: "original_ref", value: reference },
  ]);

const raw = (call: string, body: string): Probe => ({ call, body });

/** Paths and methods. */
const routes: readonly Probe[] = [
  ..."GET /nope,GET /api/nope,GET /jobs,GET /jobs/x,GET /interrupt,GET /upload/image,GET /models/nope".split(
    ",",
  ),
  ..."GET /api/jobs,GET /api/jobs/x,POST /jobs,POST /nope,PUT /prompt,DELETE /queue,POST /view".split(","),
  ..."POST /api/jobs/x/cancel,HEAD /features,HEAD /nope,OPTIONS /prompt,OPTIONS /nope,GET /features".split(
    ",",
  ),
].map((call) => ({ call }));

const bodies: readonly Probe[] = [
  ...["POST /queue", "POST /free", "POST /history", "POST /interrupt", "POST /prompt"].flatMap((call) => [
    raw(call, "{"),
    raw(call, ""),
    raw(call, "[]"),
    raw(call, "5"),
    raw(call, "{}"),
  ]),
  { call: "POST /queue", json: { delete: "nope" } },
  { call: "POST /queue", json: { clear: true } },
  { call: "POST /history", json: { delete: ["nope"], clear: true } },
  { call: "POST /interrupt", json: { prompt_id: 5 } },
  { call: "POST /prompt", json: { prompt: [] } },
  { call: "POST /prompt", json: { prompt: [1] } },
  { call: "POST /prompt", json: { prompt: null } },
  { call: "POST /prompt", json: { prompt: "x" } },
  { call: "POST /prompt", json: { prompt: {}, number: "abc" } },
  { call: "POST /prompt", json: { prompt: {}, extra_data: "x" } },
];

const lists: readonly Probe[] = [
  ..."limit=0,limit=-1,limit=abc,limit=2,offset=-1,offset=abc,sort_by=zzz,sort_order=zzz,status=,status=zzz"
    .split(",")
    .map((query) => ({ call: `GET /api/jobs?${query}` })),
  { call: "GET /history?max_items=abc" },
  { call: "GET /history?max_items=1" },
  { call: "GET /history?offset=x" },
];

const uploads: readonly Probe[] = [
  upload("t.txt", [{ name: "overwrite", value: "true" }]),
  upload("t.png", [{ name: "type", value: "zzz" }]),
  upload("t.png", [{ name: "type", value: "" }]),
  upload("x/y.png"),
  upload("../y.png"),
  upload("/tmp/y.png"),
  upload(""),
  upload("%22q%22.txt"),
  upload("b.txt", [{ name: "subfolder", value: "../.." }]),
  form("POST /upload/image", [{ name: "image", value: "text" }]),
  form("POST /upload/image", [{ name: "file", filename: "f.png", value: "x" }]),
  raw("POST /upload/image", "xx"),
  { call: "POST /upload/image", json: {} },
  mask(""),
  mask("{"),
  mask("{}"),
  mask('{"filename":"nope.png","type":"input"}'),
  mask('{"filename":"../t.txt"}'),
  mask('{"filename":"t.txt","type":"zzz"}'),
  form("POST /upload/mask", [{ name: "original_ref", value: "{}" }]),
];

const view = (query: string, headers: Record<string, string> = {}): Probe => ({
  call: `GET /view?${query}`,
  headers,
});

const views: readonly Probe[] = [
  upload("dé.svg", [{ name: "overwrite", value: "true" }]),
  upload("s.js", [{ name: "overwrite", value: "true" }]),
  upload("p.html", [{ name: "overwrite", value: "true" }]),
  upload("in.txt", [
    { name: "subfolder", value: "sv" },
    { name: "overwrite", value: "true" },
  ]),
  view("filename=t.txt&type=input"),
  view("filename=d%C3%A9.svg&type=input"),
  view("filename=s.js&type=input"),
  view("filename=p.html&type=input"),
  view("filename=t.txt"),
  view("filename=t.txt%20[input]"),
  view("filename=t.txt%20[input]&type=output"),
  view("filename=sv/in.txt&type=input"),
  view("filename=in.txt&subfolder=sv&type=input"),
  view("filename=&type=input"),
  view("type=input"),
  view("filename=../t.txt&type=input"),
  view("filename=t.txt&type=zzz"),
  view("filename=t.txt&subfolder=../..&type=input"),
  view("filename=t.txt&type=input", { range: "bytes=0-3" }),
  view("filename=t.txt&type=input", { range: "bytes=5-" }),
  view("filename=t.txt&type=input", { range: "bytes=-2" }),
  view("filename=t.txt&type=input", { range: "bytes=999-" }),
  view("filename=t.txt&type=input", { "if-none-match": "*" }),
  view("filename=t.txt&type=input", { "if-none-match": '"zzz"' }),
  view("filename=t.txt&type=input", { "if-modified-since": "Fri, 01 Jan 2100 00:00:00 GMT" }),
  view("filename=t.txt&type=input", { "if-modified-since": "Fri, 01 Jan 1999 00:00:00 GMT" }),
  { call: "HEAD /view?filename=t.txt&type=input" },
  { call: "HEAD /view?filename=nope&type=input" },
];

/** Requests in the order in which they are sent to an idle server without history. */
export const httpProbes: readonly Probe[] = [...routes, ...bodies, ...lists, ...uploads, ...views];
