import sharp from "sharp";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ask, post } from "../comfyui/recorded/client.ts";
import { startIopaintSimulator, type IopaintSimulator } from "./simulator.ts";

let simulator: IopaintSimulator;

beforeEach(async () => {
  simulator = await startIopaintSimulator();
});

afterEach(() => simulator.close());

function plain(background: string, { width = 64, height = 48 } = {}) {
  return sharp({ create: { width, height, channels: 3, background } });
}

/** A teal picture with a red spot, and a mask over the spot. */
async function scene() {
  const spot = await plain("red", { width: 16, height: 16 }).png().toBuffer();
  const white = await plain("white", { width: 16, height: 16 }).png().toBuffer();
  const place = { left: 20, top: 20 };
  const image = await plain("teal")
    .composite([{ input: spot, ...place }])
    .removeAlpha()
    .png()
    .toBuffer();
  const mask = await plain("black")
    .composite([{ input: white, ...place }])
    .png()
    .toBuffer();
  return { image: image.toString("base64"), mask: `data:image/png;base64,${mask.toString("base64")}` };
}

async function picture(path: string, body: unknown) {
  const response = await fetch(`${simulator.url}/api/v1/${path}`, {
    method: "POST",
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  const bytes = Buffer.from(await response.arrayBuffer());
  const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
  const pixelAt = (left: number, top: number) => {
    const at = (top * info.width + left) * info.channels;
    return [...data.subarray(at, at + info.channels)];
  };
  return { response, info, pixelAt, format: (await sharp(bytes).metadata()).format };
}

describe("IOPaint's inpainting", () => {
  it("fills what is white in the mask, leaves the rest exact and tells the seed", async () => {
    const { response, pixelAt, format } = await picture("inpaint", await scene());
    expect(pixelAt(0, 0)).toEqual([0, 128, 128]);
    expect(pixelAt(28, 28)).toEqual([0, 128, 128]);
    expect([format, response.headers.get("x-seed")]).toEqual(["png", "42"]);
    expect(response.headers.get("access-control-expose-headers")).toContain("X-Seed");
  });

  it("answers in the format of the picture", async () => {
    const { mask } = await scene();
    const image = (await plain("teal").jpeg().toBuffer()).toString("base64");
    expect((await picture("inpaint", { image, mask, sd_seed: 7 })).format).toBe("jpeg");
  });

  it("refuses a mask of another size with 400, and what is no picture with 500", async () => {
    const { image } = await scene();
    const small = (await plain("white", { width: 4, height: 4 }).png().toBuffer()).toString("base64");
    const [status, body] = await post(`${simulator.url}/api/v1/inpaint`, { image, mask: small });
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: "HTTPException", detail: expect.stringContaining("not match") });
    const wrong = await post(`${simulator.url}/api/v1/inpaint`, { image: "bm8=", mask: small });
    expect(wrong).toMatchObject([500, { error: "UnidentifiedImageError" }]);
    expect((await post(`${simulator.url}/api/v1/inpaint`, { image }))[0]).toBe(422);
  });

  it("answers several requests at once, each with its own picture", async () => {
    const body = await scene();
    await Promise.all([1, 2, 3].map(() => picture("inpaint", body)));
    expect(simulator.stats()).toMatchObject({ inpaints: 3, failures: 0 });
  });
});

describe("IOPaint's plugins", () => {
  it("upscale, cut out and mask", async () => {
    const { image } = await scene();
    const large = await picture("run_plugin_gen_image", { name: "RealESRGAN", image, scale: 4 });
    expect([large.info.width, large.info.height]).toEqual([256, 192]);
    const cut = await picture("run_plugin_gen_image", { name: "RemoveBG", image });
    expect([cut.pixelAt(0, 0)[3], cut.pixelAt(32, 24)[3]]).toEqual([0, 255]);
    const clicks = [[32, 24, 1]];
    const mask = await picture("run_plugin_gen_mask", { name: "InteractiveSeg", image, clicks });
    expect([mask.pixelAt(0, 0)[3], mask.pixelAt(32, 24)]).toEqual([0, [255, 203, 0, 186]]);
  });

  it("mix the pictures of requests that overlap, or fail where these differ in size", async () => {
    const upscale = async ({ url }: IopaintSimulator, background: string, width = 8) => {
      const image = (await plain(background, { width, height: 8 }).png().toBuffer()).toString("base64");
      const body = JSON.stringify({ name: "RealESRGAN", image, scale: 2 });
      const response = await fetch(`${url}/api/v1/run_plugin_gen_image`, { method: "POST", body });
      if (response.status !== 200) return response.text();
      const { dominant } = await sharp(Buffer.from(await response.arrayBuffer())).stats();
      return dominant.r > dominant.b ? "red" : "blue";
    };
    /** The first one is not done before the other one is under way, too. */
    const overlap = async (server: IopaintSimulator, widths: readonly [number, number]) => {
      const { promise: until, resolve: goOn } = Promise.withResolvers<void>();
      server.inject({ kind: "slow", until, times: 2 });
      const first = upscale(server, "red", widths[0]);
      await expect.poll(() => server.stats().mostAtOnce).toBe(1);
      const other = upscale(server, "blue", widths[1]);
      await expect.poll(() => server.stats().mostAtOnce).toBe(2);
      goOn();
      return Promise.all([first, other]);
    };
    expect(await overlap(simulator, [8, 8])).toEqual(["blue", "blue"]);
    expect(await upscale(simulator, "red")).toBe("red");
    const another = await startIopaintSimulator();
    const sizes = await overlap(another, [16, 8]);
    expect(sizes).toEqual([expect.stringContaining("expanded size of the tensor"), "blue"]);
    await another.close();
  });

  it("refuse with 422 what they cannot do, and what is off", async () => {
    const { image } = await scene();
    const wrong = { name: "RealESRGAN", image };
    expect((await post(`${simulator.url}/api/v1/run_plugin_gen_mask`, wrong))[0]).toBe(422);
    const unknown = { name: "Nope", image };
    expect(await post(`${simulator.url}/api/v1/run_plugin_gen_image`, unknown)).toMatchObject([
      422,
      { detail: "Plugin not found" },
    ]);
  });

  it("are told by server-config, with the models", async () => {
    const few = await startIopaintSimulator({ plugins: ["RemoveBG"], model: "sd15-inpainting" });
    const [, config] = await ask(`${few.url}/api/v1/server-config`);
    expect(config).toMatchObject({
      plugins: [{ name: "RemoveBG", support_gen_image: true, support_gen_mask: true }],
    });
    expect(await ask(`${few.url}/api/v1/model`)).toMatchObject([
      200,
      { name: "sd15-inpainting", need_prompt: true },
    ]);
    const switched = await post(`${few.url}/api/v1/model`, { name: "lama" });
    expect(switched).toMatchObject([200, { name: "lama", need_prompt: false }]);
    await few.close();
  });
});

describe("IOPaint's faults", () => {
  it("out of memory and errors are JSON with 500, once", async () => {
    const body = await scene();
    simulator.inject({ kind: "gpu-out-of-memory" });
    const failed = await post(`${simulator.url}/api/v1/inpaint`, body);
    expect(failed).toMatchObject([500, { errors: expect.stringMatching(/out of memory/i) }]);
    await post(`${simulator.url}/sim/fault`, { kind: "error" });
    expect((await post(`${simulator.url}/api/v1/inpaint`, body))[0]).toBe(500);
    expect((await post(`${simulator.url}/api/v1/inpaint`, body))[0]).toBe(200);
    expect(simulator.stats()).toMatchObject({ inpaints: 1, failures: 2 });
  });

  it("pages of a proxy, garbage and lost answers", async () => {
    const body = await scene();
    simulator.inject({ kind: "html", status: 502 });
    expect((await ask(`${simulator.url}/api/v1/model`))[0]).toBe(502);
    simulator.inject({ kind: "garbage" });
    expect(await post(`${simulator.url}/api/v1/inpaint`, body)).toEqual([200, "not a picture"]);
    simulator.inject({ kind: "lost-answer" });
    await expect(post(`${simulator.url}/api/v1/inpaint`, body)).rejects.toThrow("fetch failed");
  });

  it("a hanging server still tells of itself, and is well after a restart", async () => {
    const body = await scene();
    simulator.inject({ kind: "hang" });
    const hanging = post(`${simulator.url}/api/v1/inpaint`, body);
    hanging.catch(() => undefined);
    await expect.poll(() => simulator.stats().mostAtOnce).toBe(1);
    expect((await ask(`${simulator.url}/api/v1/model`))[0]).toBe(200);
    await simulator.kill();
    await expect(hanging).rejects.toThrow("fetch failed");
    await expect(ask(`${simulator.url}/api/v1/model`)).rejects.toThrow("fetch failed");
    await simulator.start();
    expect((await post(`${simulator.url}/api/v1/inpaint`, body))[0]).toBe(200);
  });
});
