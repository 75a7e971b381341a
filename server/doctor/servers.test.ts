import { builtInWorkflows } from "../workflows/index.ts";
import { expect, test } from "vitest";
import { judgeServers, type SeenServer } from "./servers.ts";

const able: SeenServer = {
  label: "gpu:8188",
  engine: "comfyui",
  said: "",
  noAnswer: "",
  seenFrom: null,
  reason: null,
  version: "0.33.0",
  device: "cuda",
  needs: ["comfyui/upscale_model"],
  models: [],
  missing: {},
  socketReason: null,
};

test("of a server where nothing answers the line says what to do, of another its own words do", () => {
  const reason = "The server cannot be reached.";
  const lines = judgeServers([
    { ...able, reason, noAnswer: "nothing listens there" },
    { ...able, engine: "iopaint", reason, noAnswer: "nothing listens there" },
    { ...able, reason: "The server refused (401).", said: "key is missing" },
  ]);
  expect(lines.map(({ message }) => message)).toEqual([
    "The server cannot be reached. Start it, or correct COMFYUI_URLS.",
    "The server cannot be reached. Start it, or correct IOPAINT_URLS.",
    "The server refused (401).",
  ]);
});

test("A10 a server with one model gets one line for all shipped workflows, and one for each of one's own", () => {
  const others = builtInWorkflows().filter(({ name }) => name !== "upscale_model");
  const missing = {
    ...Object.fromEntries(others.map(({ name }) => [name, ["model a", "model b"]])),
    t2i_sdxl: ["model sd_xl_base_1.0.safetensors (CheckpointLoaderSimple.ckpt_name)"],
    my_portrait: ["node FaceDetailer"],
  };
  const [server, own, shipped, ...rest] = judgeServers([{ ...able, missing }]);
  expect(server).toMatchObject({ isOk: true, message: "0.33.0, cuda; runs upscale_model" });
  expect(own).toMatchObject({
    isWarning: true,
    message: "cannot run: it lacks node FaceDetailer; add it there, or do without",
  });
  expect(shipped?.isWarning).toBeUndefined();
  expect(shipped?.message).toMatch(/: t2i_sdxl \(model sd_xl_base_1\.0\.safetensors\), /);
  expect(shipped?.message).toContain(`cannot run ${others.length} of`);
  expect(rest).toEqual([]);
});
