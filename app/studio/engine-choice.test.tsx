import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { NextIntlClientProvider } from "next-intl";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test, vi } from "vitest";
import { offeredWorkflow } from "@atelier/testing/workflows";
import { keys } from "../client/queries.ts";
import messages from "../../messages/en.json" with { type: "json" };
import { EngineChoice } from "./engine.tsx";
import type * as State from "./state.ts";

const name = "cloud/dress";
vi.mock("./state.ts", async (importOriginal) => {
  const state = await importOriginal<typeof State>();
  return { ...state, useStudio: () => ({ ...state.studio.get(), engine: name }) };
});

test("E8 the price of the chosen engine, to which a click agrees, stands on the page before the code of the select", () => {
  const description = "Sent to fal, $0.040 a picture.";
  const cloud = { model: "dress", provider: "fal", priceUsd: 0.04 } as const;
  const items = [
    offeredWorkflow({
      name,
      kind: "outfit_change",
      params: {},
      inputs: [],
      description,
      isLive: true,
      cloud,
    }),
  ];
  const queries = new QueryClient();
  queries.setQueryData(keys.workflows, { items });
  const html = renderToStaticMarkup(
    <NextIntlClientProvider locale="en" messages={messages} timeZone="UTC">
      <QueryClientProvider client={queries}>
        <EngineChoice personId={null} />
      </QueryClientProvider>
    </NextIntlClientProvider>,
  );
  expect(html).toContain(description);
});
