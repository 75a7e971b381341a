import { BlockList, isIP } from "node:net";

/** Ranges that are not on the public internet, or that lead elsewhere by translation; RFC 6890 and its successors. */
const special4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
];

/** Inside of the global unicast range. Teredo, 6to4 and NAT64 hold an IPv4 address, which may be a private one. */
const special6 = ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3ffe::/16", "3fff::/20"];
const global6 = "2000::/3";

function listOf(ranges: readonly string[], type: "ipv4" | "ipv6"): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = "", bits] = range.split("/");
    list.addSubnet(address, Number(bits), type);
  }
  return list;
}

const blocked4 = listOf(special4, "ipv4");
const blocked6 = listOf(special6, "ipv6");
const allowed6 = listOf([global6], "ipv6");

/** Whether an IP address, without brackets, is one of the public internet. IPv4 inside of IPv6 is not. */
export function isPublicAddress(address: string): boolean {
  // A zone names an interface of this computer.
  if (address.includes("%")) return false;
  switch (isIP(address)) {
    case 4:
      return !blocked4.check(address, "ipv4");
    case 6:
      return allowed6.check(address, "ipv6") && !blocked6.check(address, "ipv6");
    default:
      return false;
  }
}
