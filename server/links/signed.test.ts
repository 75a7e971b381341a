import { addOwner } from "@atelier/testing/jobs";
import { createTestServices } from "@atelier/testing/services";
import { expect, test } from "vitest";
import { readSigned, signPicture } from "./signed.ts";

test("a signed address is read also as versions before wrote it, and with nothing changed", async () => {
  const opened = await createTestServices({ env: { AUTH_SECRET: "a secret of the tests, long enough" } });
  try {
    const { services } = opened;
    const { userId: ownerId, imageId: id } = await addOwner(services);
    const text = signPicture(services, id, "png");
    expect(text).toMatch(/\.png$/);
    const [image = "", endsAtS = "", signature = "", note = ""] = text.split(".");
    const before = [image, endsAtS, note, signature].join(".");
    for (const written of [text, before])
      expect(await readSigned(services, written)).toEqual({ id, ownerId, note: "png" });
    const changed = [
      text.replace(/png$/, "webp"),
      [image, Number(endsAtS) + 1, signature, note].join("."),
      [image, endsAtS, signature].join("."),
      [image, endsAtS, note].join("."),
      [image, endsAtS, signature, signature].join("."),
      [image, endsAtS, note, note].join("."),
      image,
      "",
    ];
    for (const written of changed)
      await expect(readSigned(services, written)).rejects.toMatchObject({ code: "not_found" });
  } finally {
    await opened.close();
  }
});
