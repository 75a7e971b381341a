import { inAll } from "@atelier/testing/cases";
import { grownBy, withTextBombs } from "@atelier/testing/pictures";
import { eq } from "drizzle-orm";
import sharp from "sharp";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createApiKey } from "../../accounts/index.ts";
import { schema } from "../../db/index.ts";
import { type ClientStudio, drawPhoto, openClientStudio } from "../clients/fixtures/studio.ts";

const { jobs } = schema;
let studio: ClientStudio;
beforeAll(async () => {
  studio = await openClientStudio();
}, 180_000);
afterAll(() => studio.close());
beforeEach(() => studio.comfy.clearFaults());

const basic = (key: string) => `Basic ${Buffer.from(`atelier:${key}`).toString("base64")}`;

interface Sent {
  readonly body?: object;
  readonly key?: string | null;
}

async function ask(method: "GET" | "POST", path: string, { body, key = studio.owner.key }: Sent = {}) {
  const answer = await fetch(`${studio.url}${path}`, {
    method,
    headers: {
      ...(key === null ? {} : { authorization: basic(key) }),
      ...(body ? { "content-type": "application/json" } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: answer.status, json: await answer.json() };
}
const get = (path: string) => ask("GET", `/sdapi/v1/${path}`);
const post = (path: string, body: object) => ask("POST", `/sdapi/v1/${path}`, { body });

const picture = (base64: string) => sharp(Buffer.from(base64, "base64")).metadata();
const rowOf = async (id: string) => (await studio.services.db.select().from(jobs).where(eq(jobs.id, id)))[0];
const newest = async () => (await studio.services.db.select().from(jobs).orderBy(jobs.id)).at(-1);
const waiting = { timeout: 20_000, interval: 20 };

describe("Open WebUI", () => {
  test("checks the server, chooses a model and makes a picture with it", async () => {
    expect((await get("options")).json).toMatchObject({ sd_model_checkpoint: "atelier" });
    const models = (await get("sd-models")).json as { title: string; model_name: string }[];
    // The choice of the studio stands first, so that it can be taken again, and a list is never empty.
    expect(models[0]).toMatchObject({ title: "atelier", model_name: "atelier" });
    const model = models.find(({ title }) => title.endsWith("t2i_sdxl"));
    expect(model).toMatchObject({ model_name: "atelier/t2i_sdxl" });
    expect(await post("options", { sd_model_checkpoint: model?.title })).toEqual({ status: 200, json: null });
    expect((await get("options")).json.sd_model_checkpoint).toBe("atelier/t2i_sdxl");
    const { status, json } = await post("txt2img", {
      prompt: "a house",
      batch_size: 1,
      width: 512,
      height: 768,
      steps: 6,
      negative_prompt: "people",
    });
    expect([status, json.images.length]).toEqual([200, 1]);
    expect(await picture(json.images[0])).toMatchObject({ format: "png", width: 512, height: 768 });
    const info = JSON.parse(json.info);
    expect(info).toMatchObject({ width: 512, height: 768, steps: 6, sd_model_name: "atelier/t2i_sdxl" });
    expect(info.atelier.notes).toEqual([]);
    expect(await rowOf(info.atelier.jobs[0])).toMatchObject({ retention: "keep", workflow: "t2i_sdxl" });
    await post("options", { sd_model_checkpoint: "atelier" });
    expect((await get("options")).json.sd_model_checkpoint).toBe("atelier");
  });
});

test("LibreChat reads its info as JSON", async () => {
  const { json } = await post("txt2img", {
    prompt: "a house",
    negative_prompt: "people",
    cfg_scale: 4.5,
    steps: 22,
    width: 1024,
    height: 1024,
  });
  const info = JSON.parse(json.info);
  expect(info).toMatchObject({ height: 1024, width: 1024, seed: expect.any(Number) });
  expect(info.infotexts[0]).toMatch(/^a house\n(?:.*\n)*.*Seed: \d+/);
  // The default workflow has no such settings, and nothing of it is hidden.
  const params = (await rowOf(info.atelier.jobs[0]))?.params ?? {};
  const missed = ["negativePrompt", "guidance", "steps"].filter((name) => !(name in params));
  expect(missed.filter((name) => !info.atelier.notes.join(" ").includes(name))).toEqual([]);
});

describe("SillyTavern", () => {
  test("reads what there is at its start", async () => {
    const lists = [
      "samplers",
      "schedulers",
      "upscalers",
      "latent-upscale-modes",
      "sd-vae",
      "sd-modules",
      "loras",
    ];
    for (const name of lists) {
      const { status, json } = await get(name);
      expect([name, status, Array.isArray(json)]).toEqual([name, 200, true]);
    }
    expect((await get("samplers")).json[0]).toMatchObject({ name: "Workflow" });
    expect((await get("progress")).json).toMatchObject({ progress: 0, state: { job_count: 0 } });
    for (const name of ["cmd-flags", "memory", "prompt-styles", "embeddings", "hypernetworks", "scripts"])
      expect([name, (await get(name)).status]).toEqual([name, 200]);
  });

  test("is told in the info which of its settings were left out", async () => {
    const { status, json } = await post("txt2img", {
      prompt: "a house",
      negative_prompt: "",
      sampler_name: "Euler a",
      scheduler: "karras",
      steps: 20,
      cfg_scale: 7,
      width: 512,
      height: 512,
      restore_faces: false,
      enable_hr: true,
      hr_upscaler: "Latent",
      hr_scale: 1.5,
      hr_second_pass_steps: 0,
      denoising_strength: 0.7,
      seed: 11,
      override_settings: { CLIP_stop_at_last_layers: 2, sd_vae: "Automatic", forge_additional_modules: [] },
      override_settings_restore_afterwards: true,
      clip_skip: 1,
      save_images: true,
      send_images: true,
      do_not_save_grid: false,
      do_not_save_samples: false,
      alwayson_scripts: {},
    });
    expect([status, json.images.length]).toEqual([200, 1]);
    const { atelier, seed } = JSON.parse(json.info);
    const said = atelier.notes.join(" ");
    expect(seed).toBe(11);
    for (const name of ["sampler_name", "scheduler", "enable_hr", "CLIP_stop_at_last_layers"])
      expect(said).toContain(name);
    for (const name of ["hr_scale", "restore_faces", "save_images", "sd_vae"])
      expect(said).not.toContain(name);
  });

  test("sends its address and key in the body, of which the answer has none and no note", async () => {
    const { status, json } = await post("txt2img", {
      url: "http://studio.example.org",
      auth: `atelier:${studio.owner.key}`,
      prompt: "a house",
      width: 512,
      height: 512,
      steps: 20,
      sampler_name: "Workflow",
      scheduler: "Automatic",
      hr_upscaler: "Atelier",
      hr_additional_modules: [],
      override_settings: { CLIP_stop_at_last_layers: 1, sd_vae: "Automatic" },
      override_settings_restore_afterwards: true,
      clip_skip: 1,
      save_images: true,
      alwayson_scripts: {},
    });
    expect([status, JSON.parse(json.info).atelier.notes]).toEqual([200, []]);
    expect(JSON.stringify(json)).not.toContain(studio.owner.key);
    expect(json.parameters).toMatchObject({ prompt: "a house", steps: 20, sampler_name: "Workflow" });
    const scripts = { ControlNet: { args: [{ image: "c2VjcmV0" }] } };
    const controlled = await post("txt2img", { prompt: "a house", steps: 2, alwayson_scripts: scripts });
    expect(JSON.stringify(controlled.json.parameters)).not.toContain("c2VjcmV0");
    expect(controlled.json.info).toContain("alwayson_scripts is not known here");
  });

  test("names a model that takes fewer settings than the program sends, and in other ranges", async () => {
    const { status, json } = await post("txt2img", {
      prompt: "a house",
      negative_prompt: "people",
      cfg_scale: 99,
      steps: 180,
      width: 512,
      height: 512,
      seed: 12,
      override_settings: { sd_model_checkpoint: "atelier/t2i_z_image_turbo" },
    });
    expect([status, json.images?.length]).toEqual([200, 1]);
    const { atelier, seed } = JSON.parse(json.info);
    expect(seed).toBe(12);
    for (const name of ["negativePrompt", "guidance", "steps"])
      expect(atelier.notes.join(" ")).toContain(`${name} `);
  });

  test("follows the run with its preview, and ends it", async () => {
    studio.comfy.inject({ kind: "hang" });
    const asked = post("txt2img", {
      prompt: "a slow house",
      override_settings: { sd_model_checkpoint: "t2i_sdxl" },
    });
    await vi.waitUntil(async () => (await get("progress")).json.state.job_count === 1, waiting);
    await vi.waitUntil(async () => (await newest())?.status === "processing", waiting);
    expect(await post("interrupt", {})).toEqual({ status: 200, json: null });
    const { status, json } = await asked;
    expect([status, json.detail]).toEqual([409, "The job was cancelled."]);
    expect((await get("progress")).json.state.job_count).toBe(0);
  });

  test("sees the preview while the sampler runs", inAll, async () => {
    const model = { sd_model_checkpoint: "t2i_sdxl" };
    // The run does not end before its preview was seen.
    studio.comfy.inject({ kind: "hold", nodeClass: "VAEDecode" });
    const asked = post("txt2img", { prompt: "a house", steps: 100, override_settings: model });
    let image: string | null = null;
    await vi.waitUntil(async () => {
      image = (await get("progress")).json.current_image;
      return image !== null;
    }, waiting);
    studio.comfy.release();
    expect((await picture(String(image))).format).toBe("jpeg");
    expect((await asked).status).toBe(200);
  });

  test("takes LoRAs out of the prompt", async () => {
    const model = { sd_model_checkpoint: "t2i_sdxl" };
    const unknown = await post("txt2img", { prompt: "a house <lora:nothing:0.5>", override_settings: model });
    const lacks = "No connected server has all that was chosen. Missing: nothing.safetensors.";
    expect([unknown.status, unknown.json.detail]).toEqual([422, lacks]);
    const [lora] = (await get("loras")).json;
    const { json } = await post("txt2img", {
      prompt: `a house <lora:${lora.name}:0.5>`,
      override_settings: model,
    });
    expect(json.detail).toBeUndefined();
    const row = await rowOf(JSON.parse(json.info).atelier.jobs[0]);
    expect(row?.params).toMatchObject({ prompt: "a house", loras: [{ weight: 0.5 }] });
  });
});

describe("a checkpoint as the model of a program", () => {
  test("is listed, chosen by its name with and without ending and hash, and made with the sampler of the request", async () => {
    const models = (await get("sd-models")).json.map(({ title }: { title: string }) => title);
    expect(models).toContain("atelier/sd_xl_base_1.0.safetensors");
    expect(models).not.toContain("atelier/t2i_checkpoint");
    for (const name of [
      "sd_xl_base_1.0.safetensors [31e35c80fc]",
      "sd_xl_base_1.0",
      "atelier/sd_xl_base_1.0",
    ])
      expect([name, (await post("options", { sd_model_checkpoint: name })).json]).toEqual([name, null]);
    const samplers = (await get("samplers")).json.map(({ name }: { name: string }) => name);
    expect(samplers).toEqual(expect.arrayContaining(["Workflow", "Euler a", "DPM++ 2M"]));
    const schedulers = (await get("schedulers")).json.map(({ name }: { name: string }) => name);
    expect(schedulers).toEqual(expect.arrayContaining(["automatic", "karras"]));
    const sent = { prompt: "a house", width: 512, height: 512, steps: 4 };
    const { json } = await post("txt2img", { ...sent, sampler_name: "DPM++ 2M Karras" });
    const { atelier } = JSON.parse(json.info);
    expect(atelier.notes).toEqual([]);
    const { workflow, params } = (await rowOf(atelier.jobs[0])) ?? {};
    expect([workflow, params]).toEqual([
      "t2i_checkpoint",
      expect.objectContaining({
        checkpoint: "sd_xl_base_1.0.safetensors",
        sampler: "dpmpp_2m",
        scheduler: "karras",
      }),
    ]);
    const odd = await post("txt2img", { ...sent, sampler_name: "Restart", scheduler: "Karras" });
    const told = JSON.parse(odd.json.info).atelier;
    expect(told.notes).toEqual([expect.stringContaining("sampler_name")]);
    const oddParams = (await rowOf(told.jobs[0]))?.params;
    expect(oddParams).toMatchObject({ scheduler: "karras" });
    expect(oddParams).not.toHaveProperty("sampler");
    await post("options", { sd_model_checkpoint: "atelier" });
    expect((await get("samplers")).json).toHaveLength(1);
  });
});

describe("plug-ins", () => {
  const photo = async (hasHole = false) => (await drawPhoto(512, 512, hasHole)).toString("base64");

  test("change a picture, all of it or what is white in a mask, or what is not", async () => {
    const whole = await post("img2img", {
      prompt: "in snow",
      init_images: [await photo()],
      denoising_strength: 0.6,
    });
    expect([whole.status, whole.json.images.length]).toEqual([200, 1]);
    expect(await rowOf(JSON.parse(whole.json.info).atelier.jobs[0])).toMatchObject({ kind: "edit" });
    const white = { create: { width: 512, height: 512, channels: 3 as const, background: "black" } };
    const spot = await sharp({ create: { width: 100, height: 100, channels: 3, background: "white" } })
      .png()
      .toBuffer();
    const mask = await sharp(white)
      .composite([{ input: spot, left: 20, top: 20 }])
      .png()
      .toBuffer();
    for (const invert of [0, 1]) {
      const { status, json } = await post("img2img", {
        prompt: "a red door",
        init_images: [`data:image/png;base64,${await photo()}`],
        mask: mask.toString("base64"),
        inpainting_mask_invert: invert,
        mask_blur: 4,
        inpainting_fill: 1,
        inpaint_full_res: true,
        inpaint_full_res_padding: 32,
      });
      expect([status, json.detail]).toEqual([200, undefined]);
      const id = JSON.parse(json.info).atelier.jobs[0];
      expect(await rowOf(id)).toMatchObject({ kind: "inpaint", status: "completed" });
      const after = await sharp(Buffer.from(json.images[0], "base64")).removeAlpha().raw().toBuffer();
      const before = await sharp(Buffer.from(await photo(), "base64"))
        .removeAlpha()
        .raw()
        .toBuffer();
      const far = (400 * 512 + 400) * 3;
      const isKept = after.subarray(far, far + 3).equals(before.subarray(far, far + 3));
      expect([invert, isKept]).toEqual([invert, invert === 0]);
    }
  });

  test("send further pictures, for a model that takes some, and never more than it could", async () => {
    const [one, other] = [await photo(), (await drawPhoto(256, 256)).toString("base64")];
    const send = (extra_images: readonly string[]) =>
      post("img2img", {
        prompt: "the first in the style of the second",
        init_images: [one],
        extra_images,
        override_settings: { sd_model_checkpoint: "atelier/edit_flux2_two_refs" },
      });
    const { status, json } = await send([other]);
    expect([status, json.images?.length]).toEqual([200, 1]);
    const { jobInputs } = schema;
    const roles = await studio.services.db
      .select({ role: jobInputs.role })
      .from(jobInputs)
      .where(eq(jobInputs.jobId, JSON.parse(json.info).atelier.jobs[0]))
      .orderBy(jobInputs.role);
    expect(roles.map(({ role }) => role)).toEqual(["image", "reference"]);
    expect(await send(Array.from({ length: 9 }, () => other))).toMatchObject({ status: 400 });
  });

  test("enlarge a picture, and cut out what stands out", async () => {
    const small = (await drawPhoto(64, 48)).toString("base64");
    const grown = await post("extra-single-image", {
      image: small,
      upscaling_resize: 2,
      upscaler_1: "R-ESRGAN 4x+",
    });
    expect(grown.json.html_info).toBe("");
    expect(await picture(grown.json.image)).toMatchObject({ width: 128, height: 96 });
    // As `webuiapi` sends it.
    const named = { data: small, name: "photo.png" };
    const both = await post("extra-batch-images", {
      imageList: [named, named],
      upscaling_resize: 2,
      resize_mode: 0,
      show_extras_results: true,
      upscale_first: false,
    });
    expect(both.json.images).toHaveLength(2);
    expect(await picture(both.json.images[1])).toMatchObject({ format: "png", width: 128 });
    const cut = await ask("POST", "/rembg", { body: { input_image: await photo(), model: "u2net" } });
    expect(cut.json.detail).toBeUndefined();
    expect(await picture(cut.json.image)).toMatchObject({ format: "png" });
    expect(await newest()).toMatchObject({ kind: "remove_background", status: "completed" });
  }, 60_000);

  test("read the texts of a picture that they were sent", async () => {
    const model = { sd_model_checkpoint: "t2i_sdxl" };
    const { json } = await post("txt2img", { prompt: "a house", seed: 5, override_settings: model });
    const read = await post("png-info", { image: json.images[0] });
    expect(read.json.info).toMatch(/^a house\n/);
    expect(read.json.parameters).toMatchObject({ Prompt: "a house", Seed: "5" });
  });

  test("S6 png-info inflates no text that fills the memory, and opens nothing that no upload may be", async () => {
    const plain = await sharp({ create: { width: 8, height: 8, channels: 3, background: "#345" } })
      .png()
      .toBuffer();
    const image = withTextBombs(plain).toString("base64");
    expect(await grownBy(() => post("png-info", { image }))).toBeLessThan(150);
    expect(await post("png-info", { image })).toMatchObject({ status: 200, json: { info: "", items: {} } });
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>');
    expect(await post("png-info", { image: svg.toString("base64") })).toMatchObject({ status: 415 });
  });

  test("are told of a wrong key, a wrong body and an unknown model in the shape that they know", async () => {
    expect(await ask("GET", "/sdapi/v1/options", { key: null })).toMatchObject({ status: 401 });
    expect(await ask("GET", "/sdapi/v1/options", { key: "wrong" })).toMatchObject({ status: 401 });
    expect(await post("txt2img", { prompt: "" })).toMatchObject({
      status: 400,
      json: { detail: expect.stringContaining("prompt") },
    });
    expect(await post("options", { sd_model_checkpoint: "nothing" })).toMatchObject({ status: 422 });
    expect(await post("options", { CLIP_stop_at_last_layers: 2 })).toMatchObject({
      status: 200,
      json: { notes: [expect.stringContaining("CLIP_stop_at_last_layers")] },
    });
  });
});

describe("stable-gimpfusion3, a plug-in of GIMP", () => {
  test("reads at its start what there is, and finds that no ControlNet is there", async () => {
    for (const path of ["/sdapi/v1/options", "/sdapi/v1/sd-models", "/sdapi/v1/sd-modules"])
      expect([path, (await ask("GET", path)).status]).toEqual([path, 200]);
    const models = await ask("GET", "/controlnet/model_list");
    const modules = await ask("GET", "/controlnet/module_list?alias_names=true");
    expect([models, modules]).toEqual([
      { status: 200, json: { model_list: [] } },
      { status: 200, json: { module_list: [], module_detail: {} } },
    ]);
    expect(await ask("GET", "/controlnet/model_list", { key: null })).toMatchObject({ status: 401 });
    expect((await ask("GET", "/controlnet/version")).status).toBe(404);
  });

  test("makes layers of text and of the active layer, and names each by its own seed", async () => {
    const set = await post("options", { sd_model_checkpoint: "atelier", forge_additional_modules: [] });
    expect(set.status).toBe(200);
    const shared = {
      prompt: "a house",
      negative_prompt: "people",
      seed: -1,
      batch_size: 2,
      steps: 8,
      cfg_scale: 7,
      width: 512,
      height: 512,
      restore_faces: false,
      tiling: false,
      denoising_strength: 0.75,
      sampler_index: "Euler a",
    };
    const made = await post("txt2img", { ...shared, enable_hr: false });
    const info = JSON.parse(made.json.info);
    expect(made.json.images).toHaveLength(2);
    expect([info.all_seeds.length, new Set(info.all_seeds).size, info.infotexts.length]).toEqual([2, 2, 2]);
    const changed = await post("img2img", {
      ...shared,
      batch_size: 1,
      init_images: [(await drawPhoto(512, 512)).toString("base64")],
      resize_mode: 0,
      mask_blur: 4,
      alwayson_scripts: { "never oom integrated": { args: [true, true] } },
    });
    expect([changed.status, changed.json.images.length]).toEqual([200, 1]);
    expect(changed.json.info).toContain("alwayson_scripts is not known here");
    const progress = await get("progress?skip_current_image=true");
    expect(progress.json).toMatchObject({ progress: 0, eta_relative: 0, state: { job_count: 0 } });
  });

  test("shows why something was refused", async () => {
    const { status, json } = await post("txt2img", { prompt: "a house", batch_size: 20 });
    expect([status, json.error, json.message]).toEqual([400, "bad_request", json.detail]);
    expect(json.message).toBe("batch_size times n_iter: at most 16 pictures at a time.");
  });
});

test("Auto-Photoshop-StableDiffusion-Plugin sends what it keeps for itself, of which no note is made", async () => {
  const own = {
    selection_info: { left: 0, top: 0, width: 512, height: 512 },
    original_prompt: "a house",
    original_negative_prompt: "people",
    expanded_mask: "c2VjcmV0",
    mask_expansion: 12,
    use_sharp_mask: false,
    use_prompt_shortcut: false,
    prompt_shortcut_ui_dict: {},
    uniqueDocumentId: "3f0c",
    mode: "txt2img",
  };
  const { status, json } = await post("txt2img", {
    ...own,
    prompt: "a house",
    negative_prompt: "people",
    alwayson_scripts: {},
    clip_skip: 1,
    steps: 8,
    sampler_index: "Workflow",
    width: 512,
    height: 512,
    denoising_strength: 0.7,
    batch_size: 1,
    cfg_scale: 7,
    seed: "-1",
    mask_blur: 4,
    restore_faces: false,
    tiling: false,
    override_settings: { sd_model_checkpoint: "atelier/t2i_sdxl" },
  });
  expect([status, JSON.parse(json.info).atelier.notes]).toEqual([200, []]);
  expect(JSON.stringify(json.parameters)).not.toContain("c2VjcmV0");
  const read = await post("png-info", { image: `data:image/png;base64,${json.images[0]}` });
  expect(read.json.info.split("\n").at(-1)).toMatch(/^Steps: 8, .*Seed: \d+/);
});

test("a prompt that no job could take is refused before it is looked through", async () => {
  const prompt = "<lora:a".repeat(100_000);
  expect((await post("txt2img", { prompt })).status).toBe(400);
  expect((await post("txt2img", { prompt: "a house", negative_prompt: prompt })).status).toBe(400);
});

test("S9 a price is kept with the model by a key that may spend alone", async () => {
  const { services, owner } = studio;
  const { key } = await createApiKey(services, {
    userId: owner.id,
    name: "makes",
    rights: ["read", "create"],
  });
  const body = { sd_model_checkpoint: "atelier/t2i_sdxl@5" };
  expect((await ask("POST", "/sdapi/v1/options", { body, key })).status).toBe(403);
  expect((await get("options")).json.sd_model_checkpoint).toBe("atelier");
});

test("null in a body means that the field was left out", async () => {
  const nothing = {
    width: null,
    height: null,
    seed: null,
    steps: null,
    batch_size: null,
    negative_prompt: null,
  };
  const override_settings = { sd_model_checkpoint: null };
  const { status, json } = await post("txt2img", { prompt: "a house", ...nothing, override_settings });
  expect([status, json.images?.length]).toEqual([200, 1]);
  expect((await post("options", { sd_model_checkpoint: null })).status).toBe(200);
});
