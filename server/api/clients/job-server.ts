import { z } from "zod";
import type { JobKind } from "../../engines.ts";
import { kindParams, submit, submitWithPictures } from "../../jobs/index.ts";
import { AppError, parseRequest, problemOfField, textOfRequest, toProblem } from "../../platform/index.ts";
import { type MultipartRules, withParts } from "../http/multipart.ts";
import { maxJsonBytes, readLimited } from "../requests.ts";
import { fileRoutes } from "./files.ts";
import { jobResultRoute } from "./job-result.ts";
import { actFor, type ClientApi, type ClientInput, type ClientRoute, parseUserName } from "./route.ts";

/** POST /jobsRedis and its elder POST /jobs: the same request and answer. */
const jobsRedisRoute: ClientRoute = {
  method: "post",
  path: "/jobsRedis",
  operationId: "clientJobsRedis",
  handle: createTextJob,
};
const jobsRoute: ClientRoute = { ...jobsRedisRoute, path: "/jobs", operationId: "clientJobs" };

export type Fields = Readonly<Record<string, unknown>>;

async function createTextJob({ services, caller, request }: ClientInput): Promise<Response> {
  const { prompt, styles, userId: _name, ...others } = renamed(await readFields(request));
  const userName = parseUserName(_name);
  const submitter = await actFor(services, caller, userName);
  const settings = settingsOf("text_to_image", others);
  const unused = Object.entries(others).filter(([name]) => !(name in settings));
  const metadata = {
    userId: userName,
    ...(styles === undefined ? {} : { styles }),
    ...Object.fromEntries(unused),
  };
  const params = { prompt: withStyles(prompt, styles), ...settings };
  const asked = { kind: "text_to_image", retention: "ephemeral", metadata, params };
  // The client does not know which settings the chosen workflow takes, and in which range.
  const job = await submit(services, asked, { submitter, keepsUnused: true });
  return Response.json({ jobId: job.id }, { status: 201 });
}

/** Spellings of older clients. */
const oldNames: Readonly<Record<string, string>> = {
  user_id: "userId",
  negative_prompt: "negativePrompt",
};

export function renamed(fields: Fields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [oldNames[name] ?? name, value]));
}

/** The old server read JSON and forms. Throws `bad_request`, `request_too_large`. */
export async function readFields(request: Request): Promise<Fields> {
  const type = request.headers.get("content-type") ?? "";
  const bytes = await readLimited(request, maxJsonBytes);
  if (!bytes) throw new AppError("request_too_large");
  const text = textOfRequest(bytes);
  if (type.startsWith("application/x-www-form-urlencoded")) return fieldsOfForm(text);
  const fields = z.record(z.string(), z.unknown()).safeParse(parseRequest(text));
  if (!fields.success)
    throw new AppError("bad_request", "The body is not a JSON object.", { cause: fields.error });
  return fields.data;
}

function fieldsOfForm(text: string): Fields {
  const fields = [...new URLSearchParams(text)];
  for (const [name, value] of fields) {
    const problem = problemOfField(name, name + value);
    if (problem) throw problem;
  }
  return Object.fromEntries(fields);
}

/**
 * The styles follow the prompt, as the old workers put them, or are all of it. A style that is no text stays in the
 * metadata alone.
 */
function withStyles(prompt: unknown, styles: unknown): unknown {
  const list: unknown[] = [prompt, ...(Array.isArray(styles) ? styles : [styles])];
  const texts = list.filter((text): text is string => typeof text === "string" && text.trim() !== "");
  const isOther = prompt !== undefined && prompt !== null && typeof prompt !== "string";
  return texts.length > 0 && !isOther ? texts.map((text) => text.trim()).join(", ") : prompt;
}

/** Members that are settings of a job of the kind; a value that is none of ours stays in the metadata. */
export function settingsOf(kind: JobKind, fields: Fields): Record<string, unknown> {
  const { prompt: _, ...schemas }: Readonly<Record<string, z.ZodType>> = kindParams[kind].shape;
  const settings: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(schemas)) {
    const value = fields[name];
    // Forms have texts alone.
    const number = typeof value === "string" && value.trim() !== "" ? Number(value) : Number.NaN;
    const parsed = [value, number]
      .map((candidate) => schema.safeParse(candidate))
      .find(({ success }) => success);
    if (parsed?.data !== undefined) settings[name] = parsed.data;
  }
  return settings;
}

const outfitRules: MultipartRules = {
  files: { personImage: 1, garmentImage: 1 },
  fields: 32,
  fieldBytes: 8_192,
};

/** POST /jobChangeOutfit: both pictures and the job are stored in one transaction. */
const jobChangeOutfitRoute: ClientRoute = {
  method: "post",
  path: "/jobChangeOutfit",
  operationId: "clientJobChangeOutfit",
  handle: ({ services, caller, request }) =>
    withParts(services, { request, caller, rules: outfitRules }, async ({ files, fields }) => {
      const { userId, consent, ...others } = renamed(Object.fromEntries(fields));
      const userName = parseUserName(userId);
      const [person, garment] = ["personImage", "garmentImage"].map((name) =>
        files.find(({ part }) => part === name),
      );
      if (!person || !garment)
        throw new AppError("bad_request", "personImage and garmentImage are required, each as a file.");
      const submitter = await actFor(services, caller, userName);
      const job = await submitWithPictures(services, {
        submitter,
        signal: request.signal,
        pictures: [
          { role: "person", bytes: person.path, name: person.name },
          { role: "garment", bytes: garment.path, name: garment.name },
        ],
        request: {
          kind: "outfit_change",
          retention: "ephemeral",
          // These clients have no field for it: who opens EXISTING_CLIENTS states it for them, see docs/clients.md.
          params: { consent: consent !== "false" && consent !== "0" },
          metadata: { userId: userName, ...others },
        },
      });
      return Response.json({ jobId: job.id }, { status: 201 });
    }),
};

/** The old server's clients read `error`; ours read the members of a problem. */
function errorResponse(error: AppError): Response {
  const { status, headers, body } = toProblem(error);
  return new Response(JSON.stringify({ ...body, error: error.message }), { status, headers });
}

/** The HTTP API of the old job server. */
export const jobServerApi: ClientApi = {
  routes: [jobsRedisRoute, jobsRoute, jobChangeOutfitRoute, jobResultRoute, ...fileRoutes],
  isSwitched: true,
  errorResponse,
};
