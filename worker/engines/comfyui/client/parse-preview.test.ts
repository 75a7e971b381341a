import { expect, test } from "vitest";
import { limitRate } from "./limit-rate.ts";
import { parsePreview } from "./parse-preview.ts";

const jpeg = Buffer.from("ffd8ffe0", "hex");
const uint = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const withMetadata = (json: string) =>
  Buffer.concat([uint(4), uint(Buffer.byteLength(json)), Buffer.from(json), jpeg]);

test("A12 a preview of type 1 holds the picture after its format", () => {
  expect(parsePreview(Buffer.concat([uint(1), uint(1), jpeg]))).toEqual({ bytes: jpeg, promptId: null });
});

test("A12 a preview of type 4 says whose it is", () => {
  const frame = withMetadata(JSON.stringify({ node_id: "3", prompt_id: "p", image_type: "image/jpeg" }));
  expect(parsePreview(frame)).toEqual({ bytes: jpeg, promptId: "p" });
});

test.each([
  ["text of type 3", Buffer.concat([uint(3), uint(1), Buffer.from("1hello")])],
  ["an unknown type", Buffer.concat([uint(9), uint(1), jpeg])],
  ["a frame without a picture", Buffer.concat([uint(1), uint(1)])],
  ["a length beyond the frame", Buffer.concat([uint(4), uint(0xffffffff), jpeg])],
  ["metadata that is no JSON", withMetadata("{")],
  ["an empty frame", Buffer.alloc(0)],
])("A12 %s is no preview", (_name, frame) => {
  expect(parsePreview(frame)).toBeNull();
});

test("A12 at most five previews a second are passed on", () => {
  let nowMs = 0;
  const passed: number[] = [];
  const preview = limitRate(
    200,
    (value: number) => passed.push(value),
    () => nowMs,
  );
  for (; nowMs < 1_000; nowMs += 10) preview(nowMs);
  expect(passed).toEqual([0, 200, 400, 600, 800]);
});
