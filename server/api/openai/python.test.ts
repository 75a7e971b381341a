// @module-tag all
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ensureOpenaiPython, openaiFolder } from "../../../scripts/test/pip-files.ts";
import { type ClientStudio, drawPhoto, openClientStudio } from "../clients/fixtures/studio.ts";

let studio: ClientStudio;
let folder: string;

beforeAll(async () => {
  if (!ensureOpenaiPython()) throw new Error("OpenAI's package for Python could not be installed.");
  folder = await mkdtemp(path.join(os.tmpdir(), "atelier-openai-"));
  await writeFile(path.join(folder, "photo.png"), await drawPhoto(512, 512));
  await writeFile(path.join(folder, "mask.png"), await drawPhoto(512, 512, true));
  studio = await openClientStudio();
}, 180_000);
afterAll(async () => {
  await studio.close();
  await rm(folder, { recursive: true, force: true });
});

/** Reads its way, the address, a key and the folder of pictures, and prints what the package gave as JSON. */
const script = `
import base64, json, sys
sys.path.insert(0, sys.argv[1])
import openai
client = openai.OpenAI(base_url=sys.argv[2], api_key=sys.argv[3], max_retries=0)
folder = sys.argv[4]

def kind(text):
    begin = base64.b64decode(text)[:8]
    return "png" if begin == b"\\x89PNG\\r\\n\\x1a\\n" else "jpeg" if begin[:2] == b"\\xff\\xd8" else "unknown"

def refused(call):
    try:
        call()
    except openai.APIStatusError as error:
        return {"name": type(error).__name__, "status": error.status_code, "code": error.code, "param": error.param}

made = client.images.generate(model="atelier/t2i_sdxl", prompt="a house", n=2, size="1024x1024", extra_body={"seed": 41})
linked = client.images.generate(prompt="a house", response_format="url", model="dall-e-3")
events = [(event.type, kind(event.b64_json)) for event in client.images.generate(
    model="atelier/t2i_sdxl", prompt="a house", stream=True, partial_images=2)]
with open(folder + "/photo.png", "rb") as photo, open(folder + "/mask.png", "rb") as mask:
    edited = client.images.edit(image=photo, mask=mask, prompt="a red door")
with open(folder + "/photo.png", "rb") as photo:
    variation = refused(lambda: client.images.create_variation(image=photo))
print(json.dumps({
    "models": [model.id for model in client.models.list()],
    "made": [kind(one.b64_json) for one in made.data],
    "link": linked.data[0].url,
    "events": events,
    "edited": kind(edited.data[0].b64_json),
    "variation": variation,
    "unknown": refused(lambda: client.models.retrieve("nothing")),
    "strange": refused(lambda: client.images.generate(prompt="a house", size="huge")),
    "key": refused(lambda: openai.OpenAI(base_url=sys.argv[2], api_key="wrong", max_retries=0).models.list()),
}))
`;

test("the official package for Python, unchanged, lists, makes, streams and changes, and raises its own errors", async () => {
  const args = ["-c", script, openaiFolder, `${studio.url}/v1`, studio.owner.key, folder];
  const { stdout } = await promisify(execFile)("python3", args, { timeout: 100_000 });
  const got: unknown = JSON.parse(stdout);
  expect(got).toEqual({
    models: expect.arrayContaining(["atelier", "atelier/t2i_sdxl"]),
    made: ["png", "png"],
    link: expect.stringMatching(/^https?:.*\/v1\/images\/files\//),
    events: expect.arrayContaining([
      ["image_generation.partial_image", "jpeg"],
      ["image_generation.completed", "png"],
    ]),
    edited: "png",
    variation: { name: "BadRequestError", status: 400, code: expect.anything(), param: "model" },
    unknown: { name: "NotFoundError", status: 404, code: "model_not_found", param: expect.anything() },
    strange: { name: "BadRequestError", status: 400, code: expect.anything(), param: "size" },
    key: { name: "AuthenticationError", status: 401, code: "invalid_api_key", param: null },
  });
}, 120_000);
