import { serverLabel } from "@atelier/server/jobs";
import { expect, test } from "vitest";
import { parseAddress } from "./address.ts";

test.each([
  ["192.168.0.107:8188", "http://192.168.0.107:8188", "192.168.0.107:8188"],
  ["http://gpu.lan/", "http://gpu.lan", "gpu.lan"],
  ["https://Gpu.example.org/comfy/1/#y", "https://gpu.example.org/comfy/1", "gpu.example.org/comfy/1"],
  ["http://[::1]:8188", "http://[::1]:8188", "[::1]:8188"],
  ["localhost:8188", "http://localhost:8188", "localhost:8188"],
])("A10 the address %s is %s, for people %s", (text, url, label) => {
  expect(parseAddress(text)).toEqual({ url, headers: {}, query: "" });
  expect(serverLabel(url)).toBe(label);
});

test("A10 credentials of an address go into a header and nowhere else", () => {
  const address = parseAddress("https://me:p%40ss@gpu.lan/comfy");
  const authorization = `Basic ${Buffer.from("me:p@ss").toString("base64")}`;
  expect(address).toEqual({ url: "https://gpu.lan/comfy", headers: { authorization }, query: "" });
  expect(() => parseAddress("ftp://me:secret@gpu.lan")).toThrow(
    /^Not an address of a server: ftp:\/\/gpu\.lan$/,
  );
});

test.each([
  "me:secret@two words:8188",
  "me:sec@ret@two words",
  "http://me:secret/secret@gpu.lan:8188",
  "https://me:sec:ret@gpu.lan:port",
  "nginx-plus:ftp://me:secret@gpu.lan",
  "http://me:%zzsecret@gpu.lan",
  "http://me:12/secret@gpu.lan:8188",
  "me:12#secret@gpu.lan",
])("A10 the error for the wrong address %s does not tell its credentials", (text) => {
  const refusal = { code: "bad_request", message: expect.not.stringMatching(/me:|sec|ret/) };
  expect(() => parseAddress(text)).toThrow(expect.objectContaining(refusal));
});

test.each([
  ["http://me:secret@gpu.lan/comfy?key=secret", "http://gpu.lan/comfy", "key=secret"],
  ["gpu.lan/?a=1%2F2+3&b=%20", "http://gpu.lan", "a=1%2F2+3&b=%20"],
  ["gpu.lan?key=sec@secret#x", "http://gpu.lan", "key=sec@secret"],
])("A10 a query is kept as it was written, apart from the address: %s", (text, url, query) => {
  expect(parseAddress(text)).toMatchObject({ url, query });
});

test.each([
  ["ftp://me:secret@gpu.lan/comfy?key=secret", "ftp://gpu.lan/comfy"],
  ["two words?key=secret", "two words"],
  ["two words?key=sec@secret", "(not shown)"],
])("A10 a query of a wrong address is not told: %s", (text, told) => {
  expect(() => parseAddress(text)).toThrow(`Not an address of a server: ${told}`);
});

test.each(["", "//", "ftp://gpu.lan", "http://", "two words"])("A10 %j is no address of a server", (text) => {
  expect(() => parseAddress(text, "http://list.lan")).toThrow(
    expect.objectContaining({ code: "bad_request" }),
  );
});
