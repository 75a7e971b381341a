import { expect, test } from "vitest";
import { isKnownHost, networksOf, parseRanges, visitorAddress } from "./addresses.ts";

test.each([
  ["198.51.100.7", ["198.51.100.7"]],
  ["::ffff:198.51.100.7", ["198.51.100.7"]],
  ["198.51.100.7:4711", ["198.51.100.7"]],
  ["2001:db8:1:2:3:4:5:6", ["2001:db8:1:2::/64", "2001:db8:1::/48"]],
  ["2001:DB8:0001:0002::6", ["2001:db8:1:2::/64", "2001:db8:1::/48"]],
  ["[2001:db8:1:2::1]:443", ["2001:db8:1:2::/64", "2001:db8:1::/48"]],
  ["2001:db8::1", ["2001:db8:0:0::/64", "2001:db8:0::/48"]],
  ["2001:db8:0:0:1::", ["2001:db8:0:0::/64", "2001:db8:0::/48"]],
  ["fe80::1%eth0", ["fe80:0:0:0::/64", "fe80:0:0::/48"]],
  ["64:ff9b::198.51.100.7", ["64:ff9b:0:0::/64", "64:ff9b:0::/48"]],
  ["::1", ["0:0:0:0::/64", "0:0:0::/48"]],
  ["", []],
  ["unknown", []],
])("%s counts for %j, in whatever spelling", (address, networks) => {
  expect(networksOf(address).map(({ name }) => name)).toEqual(networks);
});

test.each([
  ["198.51.100.7", [], "198.51.100.7"],
  ["203.0.113.9, 198.51.100.7", [], "198.51.100.7"],
  ["203.0.113.9,198.51.100.7:4711", [], "198.51.100.7"],
  ["203.0.113.9, 198.51.100.7, 10.0.3.4", ["10.0.0.0/8"], "198.51.100.7"],
  ["203.0.113.9, 198.51.100.7, 192.0.2.1, 10.0.3.4", ["10.0.0.0/8", "192.0.2.0/24"], "198.51.100.7"],
  ["10.0.0.1, 10.0.3.4", ["10.0.0.0/8"], "10.0.0.1"],
  ["unknown, 10.0.3.4", ["10.0.0.0/8"], "10.0.3.4"],
])("of %j with the proxies %j the visitor has %s, whatever was sent in front", (header, proxies, address) => {
  expect(visitorAddress(header, parseRanges(proxies))).toBe(address);
});

test.each(["::1", "[::1]", "127.0.0.9", "localhost"])("bound to %s the studio knows its names", (HOST) => {
  const known = ["localhost:3000", "[::1]:3000", "evil.example"].map((host) => isKnownHost({ HOST }, host));
  expect(known).toEqual([true, true, false]);
});
