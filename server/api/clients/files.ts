import { type Caller, findClient, refuseLack } from "../../accounts/index.ts";
import {
  type ClientFile,
  type ClientFolder,
  listClientFiles,
  noteListed,
  openClientFile,
  openFile,
  putClientFiles,
  uploadLimits,
} from "../../images/index.ts";
import { AppError, isAppError, lineOfText } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { type MultipartRules, withParts } from "../http/multipart.ts";
import { servedStream } from "../http/streams.ts";
import { actFor, type ClientRoute, parseUserName, userNameSchema } from "./route.ts";
import { base64Of, sendJson } from "./send.ts";

const uploadRules: MultipartRules = {
  files: { imageFiles: uploadLimits.files },
  fields: 16,
  fieldBytes: 1_024,
};

const fileNameSchema = lineOfText.min(1).max(300);

const keyOf = (userName: string, fileName: string) => `${userName}/${fileName}`;

/** POST /upload */
const uploadRoute: ClientRoute = {
  method: "post",
  path: "/upload",
  operationId: "clientUpload",
  handle: ({ services, caller, request }) =>
    withParts(services, { request, caller, rules: uploadRules }, async ({ files, fields }) => {
      const userName = parseUserName(fields.get("userId") ?? fields.get("user_id"));
      if (files.length === 0) throw new AppError("bad_request", "Send at least one file as imageFiles.");
      const sent = files.map(({ path, name }) => ({ path, fileName: parseFileName(name) }));
      const { userId: ownerId } = await actFor(services, caller, userName);
      await putClientFiles(services, { ownerId, userName }, { files: sent, signal: request.signal });
      const stored = sent.map(({ fileName }) => ({
        originalFilename: fileName,
        key: keyOf(userName, fileName),
      }));
      return Response.json({ keys: stored.map(({ key }) => key), files: stored }, { status: 201 });
    }),
};

function parseFileName(name: string): string {
  const parsed = fileNameSchema.safeParse(name);
  if (parsed.success && !parsed.data.includes("/")) return parsed.data;
  throw new AppError("bad_request", "Each file needs a name of at most 300 characters.");
}

/** The files that a name means for a caller; null when an admin's key names a user who was never used. */
async function folderOf(services: Services, caller: Caller, userName: string): Promise<ClientFolder | null> {
  refuseLack(caller);
  const owner = caller.isAdmin ? await findClient(services, userName) : caller;
  return owner && { ownerId: owner.userId, userName };
}

/** GET /images/:userId: what was sent in full is removed when its time is over. */
const listRoute: ClientRoute = {
  method: "get",
  path: "/images/:userId",
  operationId: "clientListImages",
  async handle({ services, caller, params, request }) {
    const folder = await folderOf(services, caller, parseUserName(params["userId"]));
    if (!folder || request.method === "HEAD") return Response.json([]);
    const listed = await listClientFiles(services, folder);
    return sendJson(services, listPieces(services, folder, listed), {
      onServed: () =>
        noteListed(services, folder, listed).catch((error: unknown) => {
          services.log.warn({ err: error }, "listed files not noted, the next list has them again");
        }),
    });
  },
};

/** A JSON array of base64, one picture in memory at a time at most. A file that is gone by now is left out. */
async function* listPieces(
  services: Services,
  { ownerId }: ClientFolder,
  files: readonly ClientFile[],
): AsyncGenerator<string> {
  let separator = "[";
  for (const { imageId: id } of files) {
    const body = await openListed(services, { id, ownerId });
    if (!body) continue;
    yield `${separator}"`;
    yield* base64Of(body);
    yield '"';
    separator = ",";
  }
  yield separator === "[" ? "[]" : "]";
}

async function openListed(services: Services, own: { readonly id: string; readonly ownerId: string }) {
  try {
    return (await openFile(services, { ...own, variant: "original" })).body;
  } catch (error) {
    if (isAppError(error) && (error.code === "not_found" || error.code === "file_missing")) return null;
    throw error;
  }
}

/** GET /image/raw/:key: nothing is removed. */
const rawRoute: ClientRoute = {
  method: "get",
  path: "/image/raw/:key{.+}",
  operationId: "clientRawImage",
  async handle({ services, caller, params, request }) {
    const [userName = "", ...rest] = (params["key"] ?? "").split("/");
    const fileName = rest.join("/");
    const isName = userNameSchema.safeParse(userName).success && fileNameSchema.safeParse(fileName).success;
    const folder = isName ? await folderOf(services, caller, userName) : null;
    if (!folder) throw new AppError("not_found");
    const opened = await openClientFile(services, folder, { fileName, isHead: request.method === "HEAD" });
    const body = opened.body && servedStream(services, opened.body, () => Promise.resolve());
    return new Response(body, { headers: opened.headers });
  },
};

export const fileRoutes: readonly ClientRoute[] = [uploadRoute, listRoute, rawRoute];
