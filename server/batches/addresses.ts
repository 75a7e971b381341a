import type { BatchAxis } from "../db/index.ts";
import type { InputRole } from "../engines.ts";
import { purgeImages } from "../images/index.ts";
import { takeInPicture, takesInputsAlong } from "../jobs/index.ts";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services.ts";
import type { BatchRequest } from "./request.ts";

/** Each takes up to 20 s, a few at a time. */
const maxAddresses = 40;
const fetchesAtOnce = 4;

type Address = Parameters<typeof takeInPicture>[1];

const isAddress = (picture: unknown): picture is { readonly url: string } =>
  typeof Object(picture).url === "string";
/** A mask and a picture of one address are stored apart, and so is what goes with its job. */
const nameOf = ({ role, url, isJobs }: Address) => `${role === "mask"} ${isJobs === true} ${url}`;

/** The pictures of a batch that are addresses, each once. Throws `bad_request` for more than it may have. */
export function addressesIn({ requests }: BatchRequest): ReadonlyMap<string, Address> {
  const found = requests.flatMap(({ request, steps }) =>
    [request, ...steps].flatMap((one) =>
      Object.entries(Object(one).inputs ?? {}).flatMap(([role, picture]) =>
        // Safe cast: another name is refused as an unknown input afterwards.
        isAddress(picture)
          ? [{ role: role as InputRole, url: picture.url, isJobs: takesInputsAlong(one) }]
          : [],
      ),
    ),
  );
  const addresses = new Map(found.map((address) => [nameOf(address), address]));
  if (addresses.size > maxAddresses)
    throw new AppError("bad_request", `A batch fetches ${maxAddresses} pictures at most; upload the others.`);
  return addresses;
}

interface Fetch {
  readonly batch: BatchRequest;
  readonly addresses: ReadonlyMap<string, Address>;
  readonly options: Parameters<typeof takeInPicture>[2];
}

/**
 * Fetches the pictures of a batch that are addresses, each once, and hands it on with their ids; when that is refused, the
 * pictures that were new are removed again.
 */
export async function withFetched<Answer>(
  services: Services,
  { batch, addresses, options }: Fetch,
  next: (batch: BatchRequest) => Promise<Answer>,
): Promise<Answer> {
  const idByName = new Map<string, string>();
  const created: string[] = [];
  const take = async (address: Address) => {
    const image = await takeInPicture(services, address, options);
    if (image.created) created.push(image.id);
    idByName.set(nameOf(address), image.id);
  };
  try {
    const all = [...addresses.values()];
    for (let at = 0; at < all.length; at += fetchesAtOnce) {
      const outcomes = await Promise.allSettled(all.slice(at, at + fetchesAtOnce).map(take));
      const failed = outcomes.find((outcome) => outcome.status === "rejected");
      if (failed) throw failed.reason;
    }
    options.signal.throwIfAborted();
    return await next(withPictures(batch, idByName));
  } catch (error) {
    // A picture that another job uses by now stays.
    await purgeImages(services, created);
    throw error;
  }
}

/** The batch with the pictures that its addresses have become. */
function withPictures(batch: BatchRequest, idByName: ReadonlyMap<string, string>): BatchRequest {
  const idOf = (role: string, url: string, isJobs: boolean) =>
    idByName.get(nameOf({ role: role as InputRole, url, isJobs }));
  const filled = <Request>(request: Request): Request => {
    const { inputs } = Object(request);
    if (typeof inputs !== "object" || inputs === null) return request;
    const entries = Object.entries(inputs).map(([role, picture]) => [
      role,
      isAddress(picture) ? idOf(role, picture.url, takesInputsAlong(request)) : picture,
    ]);
    return { ...request, inputs: Object.fromEntries(entries) };
  };
  return {
    ...batch,
    requests: batch.requests.map(({ request, steps }) => ({
      request: filled(request),
      steps: steps.map(filled),
    })),
    axes:
      batch.axes?.map((axis) =>
        withIds(axis, (role, url) => idOf(role, url, false) ?? idOf(role, url, true)),
      ) ?? null,
  };
}

/** The axis with the ids of pictures that its addresses have become, as what shows it wants. */
function withIds(axis: BatchAxis, idOf: (role: string, url: string) => string | undefined): BatchAxis {
  const filled = <Member extends Pick<BatchAxis, "param" | "values">>(member: Member): Member => {
    const [, role] = /(?:^|\.)inputs\.(.+)$/.exec(member.param) ?? [];
    if (role === undefined) return member;
    return { ...member, values: member.values.map((value) => idOf(role, String(value)) ?? value) };
  };
  return { ...filled(axis), ...(axis.along ? { along: axis.along.map(filled) } : {}) };
}
