import { expect, test } from "vitest";
import { checkFile, maxUploadBytes } from "./store.ts";

test("a picture of an accepted type and size is sent", () => {
  expect(checkFile({ type: "image/webp", size: maxUploadBytes })).toBeNull();
});

test("other types are refused before they are read", () => {
  expect(checkFile({ type: "image/gif", size: 10 })?.code).toBe("upload_unsupported");
  expect(checkFile({ type: "", size: 10 })?.code).toBe("upload_unsupported");
});

test("a file over 25 MB is refused before it is read", () => {
  expect(checkFile({ type: "image/png", size: maxUploadBytes + 1 })?.code).toBe("upload_too_large");
});
