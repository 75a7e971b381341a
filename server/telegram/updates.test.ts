import { expect, test } from "vitest";
import { parseUpdate } from "./updates.ts";

const sentAs = (document: object) =>
  parseUpdate({
    update_id: 1,
    message: { message_id: 2, chat: { id: 3, type: "private" }, document: { file_id: "a", ...document } },
  });

test.each(["IMG_1.HEIC", "a.heif", "a.HIF", "a.avif", "a.jfif", "a.gif", "a.tif", "a b.PNG"])(
  "C1 %s is a picture where the program that sent it names no kind",
  (file_name) => {
    for (const kind of [{}, { mime_type: "application/octet-stream" }, { mime_type: "" }])
      expect(sentAs({ file_name, ...kind })).toMatchObject({ type: "picture", fileName: file_name });
  },
);

test("C1 other files are none", () => {
  for (const file_name of ["a.pdf", "heic", "a.heic.zip", undefined])
    expect(sentAs({ file_name })).toMatchObject({ type: "other" });
  expect(sentAs({ file_name: "a.png", mime_type: "text/plain" })).toMatchObject({ type: "other" });
});
