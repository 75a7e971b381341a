import { expect, test } from "vitest";
import { parseUpstreams } from "./nginx-file.ts";

const file = `
# upstream commented { server 10.0.0.1:1; }
http {
  map $http_upgrade $connection_upgrade { default upgrade; '' close; }
  upstream comfy {
    zone comfy 64k; # server 10.0.0.2:2;
    least_conn;
    server 192.168.0.107:8188 weight=3 max_fails=2 fail_timeout=10s;
    server gpu-two.lan:8188 backup; server "gpu-three.lan" down;
    server [fd00::4]:8188 drain;
    server unix:/run/comfy.sock;
    keepalive 8;
  }
  upstream other { server 10.0.0.9:9000 resolve; }
  server { listen 80; server_name x; location / { proxy_pass http://comfy; } }
}
`;
const plain = { upstream: "comfy", port: 8188, weight: 1, isBackup: false, isDrained: false };

test("A10 servers of an nginx file are read with weight, backup and down; comments and sockets are passed over", () => {
  expect(parseUpstreams(file)).toEqual([
    { ...plain, host: "192.168.0.107", weight: 3 },
    { ...plain, host: "gpu-two.lan", isBackup: true },
    { ...plain, host: "gpu-three.lan", port: 80, isDrained: true },
    { ...plain, host: "[fd00::4]", isDrained: true },
    { ...plain, upstream: "other", host: "10.0.0.9", port: 9000 },
  ]);
});

test.each([
  "upstream comfy { server 10.0.0.1:8188;",
  "upstream comfy { server 10.0.0.1",
  "upstream comfy { server 10.0.0.1:8188; } }",
  "upstream comfy { server 10.0.0.1:x; }",
])("A10 a file that is being written or is damaged is refused as a whole: %s", (text) => {
  expect(() => parseUpstreams(text)).toThrow(expect.objectContaining({ code: "bad_request" }));
});
