import { BlockList, isIP } from "node:net";
import { withoutBrackets } from "./addresses.ts";
import { AppError } from "./errors.ts";

/** Ranges that are not on the public internet, or that lead elsewhere by translation; RFC 6890 and its successors. */
const special4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  // The platform's own agent on every machine of Azure.
  "168.63.129.16/32",
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

/**
 * Inside of the global unicast range: Teredo and 6to4 hold an IPv4 address, which may be a private one. The other forms
 * that hold one (mapped, compatible, NAT64) lie outside of it.
 */
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
function isPublicAddress(address: string): boolean {
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

/** Of a network with IPv6 alone, whose name server writes the address of an IPv4 host behind it; RFC 6052. */
const nat64 = /^64:ff9b::(?:([\da-f]{1,4}):)?([\da-f]{1,4})$/;

/** Whether an address that a name server gave is one of the public internet, also through NAT64. */
export function isPublicAnswer(address: string): boolean {
  if (isIP(address) !== 6 || address.includes("%")) return isPublicAddress(address);
  const [, high = "0", low] = nat64.exec(new URL(`http://[${address}]`).hostname.slice(1, -1)) ?? [];
  if (low === undefined) return isPublicAddress(address);
  const parts = [high, low].flatMap((part) => [
    Number.parseInt(part, 16) >> 8,
    Number.parseInt(part, 16) & 255,
  ]);
  return isPublicAddress(parts.join("."));
}

export interface UrlRules {
  /**
   * Hosts that the operator allows although they are private, with a port or for all of their ports: `nas.lan`,
   * `10.0.0.5:8080`, `[fd00::1]:8080`. They may also be reached without TLS.
   */
  readonly allowPrivate?: readonly string[];
  /** Whether public hosts may be reached without TLS; false by default. */
  readonly allowHttp?: boolean;
}

/** Whether a text is an entry of `allowPrivate`. */
export function isHostEntry(text: string): boolean {
  const host = isIP(text) === 6 ? `[${text}]` : text;
  return /^(\[[\da-f:.]+\]|[\w.-]+)(:\d{1,5})?$/i.test(host) && URL.canParse(`http://${host}/`);
}

/** Whether the operator allows the host of a URL although it is private. */
export function isAllowedHost(url: URL, { allowPrivate = [] }: UrlRules): boolean {
  const { hostname } = url;
  const withPort = hostEntryOf(url);
  return allowPrivate.some((entry) => {
    const host = entry.toLowerCase();
    return host === hostname || host === withPort || `[${host}]` === hostname;
  });
}

/** The entry of `allowPrivate` for one service of a host: its own port alone. */
export function hostEntryOf({ hostname, port, protocol }: URL): string {
  return `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
}

/**
 * Private hosts from which the results of an API may be fetched: none for a public API. One in a private network, or
 * without TLS, has its results at its own host and port, or at hosts that the operator names.
 */
export function resultHosts(baseUrl: string, named: readonly string[]): readonly string[] {
  const base = new URL(baseUrl);
  const isPrivate = isAllowedHost(base, { allowPrivate: named }) || !isPublicUrl(base);
  return isPrivate ? [hostEntryOf(base), ...named] : [];
}

/**
 * Whether a URL names a host of the own network: this computer, a private address, a name that only such a network knows, or
 * one of the operator's own hosts.
 */
export function isOwnNetwork(url: string, allowPrivate: readonly string[]): boolean {
  const target = new URL(url);
  if (isAllowedHost(target, { allowPrivate })) return true;
  const hostname = target.hostname.replace(/^\[|\]$|\.$/g, "");
  if (isIP(hostname) !== 0) return !isPublicAddress(hostname);
  // A name without a dot, such as that of a container, has no meaning outside.
  return !hostname.includes(".") || localName.test(hostname);
}

function isPublicUrl(url: URL): boolean {
  try {
    checkPublic(url, {});
    return true;
  } catch {
    return false;
  }
}

/** Other ports belong to other services, whose firewall may trust this machine. */
const webPorts = new Set(["", "80", "443", "8080", "8443"]);

/** Names of hosts inside a network. Their addresses are checked as well; this keeps the questions from its name server. */
const localName =
  /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|private|lan|home|corp|home\.arpa)$/;

/**
 * Checks what is visible in a URL itself: protocol, port, credentials, host. An address behind a name is checked when the
 * connection is made. Throws `url_refused`.
 */
export function checkUrl(url: string, rules: UrlRules): URL {
  if (!URL.canParse(url)) throw refusal("it is not valid");
  const target = new URL(url);
  if (target.protocol !== "https:" && target.protocol !== "http:") throw refusal("only https is");
  if (target.username !== "" || target.password !== "") throw refusal("it holds a name or a password");
  if (!isAllowedHost(target, rules)) checkPublic(target, rules);
  return target;
}

function checkPublic({ protocol, hostname, port }: URL, { allowHttp = false }: UrlRules): void {
  if (protocol === "http:" && !allowHttp) throw refusal("only https is");
  if (!webPorts.has(port)) throw refusal("its port is not one of the web");
  if (hostname.endsWith(".")) throw refusal("its host ends with a dot");
  const address = withoutBrackets(hostname);
  const isName = isIP(address) === 0;
  const isPublic = isName ? hostname.includes(".") && !localName.test(hostname) : isPublicAddress(address);
  if (!isPublic) throw privateAddress();
}

/** Checks where an answer redirects to. Throws `url_refused`. */
export function checkRedirect(location: string, from: URL, rules: UrlRules): URL {
  const target = checkUrl(URL.canParse(location, from.href) ? new URL(location, from.href).href : "", rules);
  if (from.protocol === "https:" && target.protocol !== "https:")
    throw refusal("it redirects from https to http");
  return target;
}

function refusal(why: string): AppError {
  return new AppError("url_refused", `This address is not allowed: ${why}.`);
}

export function privateAddress(): AppError {
  return refusal("it leads into a private network");
}
