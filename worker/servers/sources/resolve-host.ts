import { lookup } from "node:dns/promises";
import { isIP } from "node:net";

/**
 * The addresses behind a name, when there are several; else the name itself, which outlives a change of its address.
 * `known` holds what earlier look-ups gave: it is used when the name cannot be looked up now.
 */
export async function resolveHost(
  host: string,
  known: Map<string, readonly string[]>,
): Promise<readonly string[]> {
  if (host.startsWith("[") || isIP(host)) return [host];
  const found = await lookup(host, { all: true }).catch(() => null);
  if (!found) return known.get(host) ?? [host];
  const hosts = several(found) ?? [host];
  known.set(host, hosts);
  return hosts;
}

/** One machine may have an address of each family: those of the first family alone are counted. */
function several(found: readonly { address: string; family: number }[]): string[] | null {
  const family = found.some((each) => each.family === 4) ? 4 : 6;
  const addresses = [
    ...new Set(found.filter((each) => each.family === family).map(({ address }) => address)),
  ].toSorted();
  if (addresses.length < 2) return null;
  return addresses.map((address) => (family === 6 ? `[${address}]` : address));
}
