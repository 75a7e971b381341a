// @module-tag all
import { ingest, listImages } from "@atelier/server/images";
import sharp from "sharp";
import { expect, test } from "vitest";
import { realTimeMs } from "../cases/index.ts";
import { describeByColour, picturesOf, startLlm } from "../llm/index.ts";
import { eventually, openScene, type Scene } from "./scene.ts";

async function upload({ services, owner }: Scene, background: string): Promise<string> {
  const create = { width: 300, height: 200, channels: 3, background } as const;
  const bytes = await sharp({ create }).jpeg().toBuffer();
  return (await ingest(services, { ownerId: owner.userId, role: "upload", bytes, name: "IMG_1.jpg" })).id;
}

test(
  "a worker killed while the model looks at a picture: another one goes on, each picture is found by what it shows, and two workers ask once",
  { timeout: realTimeMs },
  async ({ onTestFinished }) => {
    const llm = await startLlm();
    onTestFinished(() => llm.close());
    const scene = await openScene(onTestFinished, {});
    const { services, owner } = scene;
    const find = async (search: string) =>
      (await listImages(services, { ownerId: owner.userId, search })).items.map(({ id }) => id);
    const env = { ...llm.env, LLM_VISION_MODEL: "local/eyes" };
    const [red, blue] = [await upload(scene, "#dc1e1e"), await upload(scene, "#283cd2")];
    let hasHung = false;
    llm.answer = async (request) => {
      const [picture] = picturesOf(request);
      const text = picture ? await describeByColour(picture) : "no picture";
      if (hasHung || !text.includes("red")) return { text };
      hasHung = true;
      return { delayMs: Infinity };
    };
    const first = await scene.startWorker({ name: "first", env });
    await eventually(() => hasHung, true);
    await first.kill9();
    expect([await find("mostly blue 300"), await find("mostly red 300")]).toEqual([[blue], []]);
    await services.db.execute("update turns set held_until = now() - interval '1 second'");
    await Promise.all(["second", "third"].map((name) => scene.startWorker({ name, env })));
    await eventually(() => find("mostly red 300"), [red]);
    const asked = await Promise.all(llm.requests.flatMap(picturesOf).map(describeByColour));
    // The owner has a small picture of any colour, which is described last.
    const big = asked.filter((text) => text.includes("300 by 200"));
    expect(big).toEqual([
      expect.stringContaining("blue"),
      expect.stringContaining("red"),
      expect.stringContaining("red"),
    ]);
    expect(await scene.faults()).toEqual([]);
  },
);
