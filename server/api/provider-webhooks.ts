import { AppError } from "../platform/index.ts";
import {
  clientOf,
  knowsToken,
  noteWebhook,
  ProviderError,
  type ProviderName,
  providerNames,
  webhookAccess,
} from "../providers/index.ts";
import type { Services } from "../services.ts";
import { problemResponse } from "./http/route.ts";
import { admitNetwork, classifyError, readLimited, withRequestId } from "./requests.ts";

const maxWebhookBytes = 4 * 1024 ** 2;
/** For the keys that a signature is verified with, where a provider publishes them. */
const verifyLimitMs = 5_000;

/**
 * The end of a run as its provider reports it: `POST /api/webhooks/<provider>/<token>`. Nothing of the body is believed but
 * that something happened: the attempt of the token becomes due, and a worker asks the provider. So a repeated, late,
 * early or reordered webhook does no harm, and the answer is quick. An unknown token is 404, a wrong signature 401.
 */
export function handleProviderWebhook(services: Services, request: Request): Promise<Response> {
  return withRequestId(request, () => answer(services, request));
}

async function answer(services: Services, request: Request): Promise<Response> {
  try {
    const [provider, token] = new URL(request.url).pathname.split("/").slice(-2);
    if (!isProvider(provider) || !token) throw new AppError("not_found");
    // Each unknown token costs a query. A webhook that is refused only makes its job wait for the next look at the provider.
    await admitNetwork(services, request.headers, "webhooks");
    // First: without the secret of an attempt nobody makes this process read a body or fetch the keys of a provider.
    if (!(await knowsToken(services, { provider, token }))) throw new AppError("not_found");
    const rawBody = await readLimited(request, maxWebhookBytes);
    if (!rawBody) throw new AppError("request_too_large");
    const externalId = await verified(services, provider, { rawBody, request });
    await noteWebhook(services, { provider, token, externalId });
    return new Response(null, { status: 204 });
  } catch (error) {
    return problemResponse(classifyError(error));
  }
}

function isProvider(name: string | undefined): name is ProviderName {
  return providerNames.some((known) => known === name);
}

async function verified(
  services: Services,
  provider: ProviderName,
  { rawBody, request }: { readonly rawBody: Uint8Array; readonly request: Request },
): Promise<string> {
  const headers = Object.fromEntries(request.headers);
  const signal = AbortSignal.timeout(verifyLimitMs);
  try {
    const access = webhookAccess(services.env, provider);
    const { externalId } = await clientOf(provider).verifyWebhook(access, { rawBody, headers }, signal);
    return externalId;
  } catch (error) {
    services.log.warn({ provider, err: error }, "webhook of a provider refused");
    if (error instanceof ProviderError && error.class === "auth")
      throw new AppError("unauthorized", error.message);
    throw new AppError("bad_request", "The webhook cannot be read.", { cause: error });
  }
}
