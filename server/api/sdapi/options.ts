import { z } from "zod";
import { requireRight } from "../../accounts/index.ts";
import { lineOfText } from "../../platform/index.ts";
import { readProgramModel, setProgramModel } from "../../scheduling/index.ts";
import { defaultChoice, findChoice, readChoices } from "../clients/choices.ts";
import { readBody } from "../clients/picture-bodies.ts";
import type { ClientRoute } from "../clients/route.ts";

/** The kinds that a model of these programs can be of. */
export const sdapiKinds = ["text_to_image", "edit", "inpaint"] as const;

const getRoute: ClientRoute = {
  method: "get",
  path: "/sdapi/v1/options",
  operationId: "sdapiGetOptions",
  async handle({ services, caller }) {
    return Response.json({
      sd_model_checkpoint: (await readProgramModel(services.db, caller.userId)) ?? defaultChoice,
      sd_checkpoint_hash: "",
      sd_vae: "Automatic",
      samples_format: "png",
      samples_save: true,
      CLIP_stop_at_last_layers: 1,
      enable_pnginfo: true,
    });
  },
};

const optionsSchema = z.looseObject({ sd_model_checkpoint: lineOfText.max(200).nullish() });

/** POST options: the model is kept for all programs of the user; what else is set means nothing here, and the answer says so. */
const setRoute: ClientRoute = {
  method: "post",
  path: "/sdapi/v1/options",
  operationId: "sdapiSetOptions",
  async handle(input) {
    const { sd_model_checkpoint: name, ...others } = await readBody(input, optionsSchema);
    if (name !== undefined && name !== null) {
      const { choice, maxPriceUsd } = findChoice(await readChoices(input.services, sdapiKinds), name);
      // The price counts for later requests of all keys.
      if (maxPriceUsd !== null) requireRight(input.caller, "spend");
      await setProgramModel(input.services.db, input.caller.userId, choice === null ? null : name);
    }
    const notes = Object.keys(others).map((option) => `${option} is not known here and was left out.`);
    return Response.json(notes.length === 0 ? null : { notes });
  },
};

export const optionRoutes: readonly ClientRoute[] = [getRoute, setRoute];
