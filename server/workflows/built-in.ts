import cpuCompositeNoModelGraph from "./built-in/cpu_composite_no_model/graph.json" with { type: "json" };
import cpuCompositeNoModel from "./built-in/cpu_composite_no_model/workflow.json" with { type: "json" };
import cutoutBirefnetGraph from "./built-in/cutout_birefnet/graph.json" with { type: "json" };
import cutoutBirefnet from "./built-in/cutout_birefnet/workflow.json" with { type: "json" };
import editFlux2Klein4bGraph from "./built-in/edit_flux2_klein_4b/graph.json" with { type: "json" };
import editFlux2Klein4b from "./built-in/edit_flux2_klein_4b/workflow.json" with { type: "json" };
import editFlux2TwoRefsGraph from "./built-in/edit_flux2_two_refs/graph.json" with { type: "json" };
import editFlux2TwoRefs from "./built-in/edit_flux2_two_refs/workflow.json" with { type: "json" };
import editFluxKontextStitchedGraph from "./built-in/edit_flux_kontext_stitched/graph.json" with { type: "json" };
import editFluxKontextStitched from "./built-in/edit_flux_kontext_stitched/workflow.json" with { type: "json" };
import editQwen2511Graph from "./built-in/edit_qwen_2511/graph.json" with { type: "json" };
import editQwen2511 from "./built-in/edit_qwen_2511/workflow.json" with { type: "json" };
import editQwenImage21Graph from "./built-in/edit_qwen_image_2_1/graph.json" with { type: "json" };
import editQwenImage21 from "./built-in/edit_qwen_image_2_1/workflow.json" with { type: "json" };
import expandFlux2Klein4bGraph from "./built-in/expand_flux2_klein_4b/graph.json" with { type: "json" };
import expandFlux2Klein4b from "./built-in/expand_flux2_klein_4b/workflow.json" with { type: "json" };
import expandFluxFillGraph from "./built-in/expand_flux_fill/graph.json" with { type: "json" };
import expandFluxFill from "./built-in/expand_flux_fill/workflow.json" with { type: "json" };
import inpaintAnyDifferentialGraph from "./built-in/inpaint_any_differential/graph.json" with { type: "json" };
import inpaintAnyDifferential from "./built-in/inpaint_any_differential/workflow.json" with { type: "json" };
import inpaintFluxFillGraph from "./built-in/inpaint_flux_fill/graph.json" with { type: "json" };
import inpaintFluxFill from "./built-in/inpaint_flux_fill/workflow.json" with { type: "json" };
import inpaintSdVaeencodeforinpaintGraph from "./built-in/inpaint_sd_vaeencodeforinpaint/graph.json" with { type: "json" };
import inpaintSdVaeencodeforinpaint from "./built-in/inpaint_sd_vaeencodeforinpaint/workflow.json" with { type: "json" };
import selectBoxSam3Graph from "./built-in/select_box_sam3/graph.json" with { type: "json" };
import selectBoxSam3 from "./built-in/select_box_sam3/workflow.json" with { type: "json" };
import selectClickSam3Graph from "./built-in/select_click_sam3/graph.json" with { type: "json" };
import selectClickSam3 from "./built-in/select_click_sam3/workflow.json" with { type: "json" };
import selectTextSam3Graph from "./built-in/select_text_sam3/graph.json" with { type: "json" };
import selectTextSam3 from "./built-in/select_text_sam3/workflow.json" with { type: "json" };
import t2iCheckpointGraph from "./built-in/t2i_checkpoint/graph.json" with { type: "json" };
import t2iCheckpoint from "./built-in/t2i_checkpoint/workflow.json" with { type: "json" };
import t2iFlux1CheckpointFp8Graph from "./built-in/t2i_flux1_checkpoint_fp8/graph.json" with { type: "json" };
import t2iFlux1CheckpointFp8 from "./built-in/t2i_flux1_checkpoint_fp8/workflow.json" with { type: "json" };
import t2iFlux1SplitGraph from "./built-in/t2i_flux1_split/graph.json" with { type: "json" };
import t2iFlux1Split from "./built-in/t2i_flux1_split/workflow.json" with { type: "json" };
import t2iFlux1StyleGraph from "./built-in/t2i_flux1_style/graph.json" with { type: "json" };
import t2iFlux1Style from "./built-in/t2i_flux1_style/workflow.json" with { type: "json" };
import t2iFlux2DevGraph from "./built-in/t2i_flux2_dev/graph.json" with { type: "json" };
import t2iFlux2Dev from "./built-in/t2i_flux2_dev/workflow.json" with { type: "json" };
import t2iFlux2Klein4bGraph from "./built-in/t2i_flux2_klein_4b/graph.json" with { type: "json" };
import t2iFlux2Klein4b from "./built-in/t2i_flux2_klein_4b/workflow.json" with { type: "json" };
import t2iQwenImageGraph from "./built-in/t2i_qwen_image/graph.json" with { type: "json" };
import t2iQwenImage from "./built-in/t2i_qwen_image/workflow.json" with { type: "json" };
import t2iSd15Graph from "./built-in/t2i_sd15/graph.json" with { type: "json" };
import t2iSd15 from "./built-in/t2i_sd15/workflow.json" with { type: "json" };
import t2iSdxlGraph from "./built-in/t2i_sdxl/graph.json" with { type: "json" };
import t2iSdxl from "./built-in/t2i_sdxl/workflow.json" with { type: "json" };
import t2iZImageTurboGraph from "./built-in/t2i_z_image_turbo/graph.json" with { type: "json" };
import t2iZImageTurbo from "./built-in/t2i_z_image_turbo/workflow.json" with { type: "json" };
import t2iZImageTurboStructureGraph from "./built-in/t2i_z_image_turbo_structure/graph.json" with { type: "json" };
import t2iZImageTurboStructure from "./built-in/t2i_z_image_turbo_structure/workflow.json" with { type: "json" };
import tryonFlux2Klein4bGraph from "./built-in/tryon_flux2_klein_4b/graph.json" with { type: "json" };
import tryonFlux2Klein4b from "./built-in/tryon_flux2_klein_4b/workflow.json" with { type: "json" };
import tryonFlux2Klein4bLoraGraph from "./built-in/tryon_flux2_klein_4b_lora/graph.json" with { type: "json" };
import tryonFlux2Klein4bLora from "./built-in/tryon_flux2_klein_4b_lora/workflow.json" with { type: "json" };
import tryonFluxFillReduxGraph from "./built-in/tryon_flux_fill_redux/graph.json" with { type: "json" };
import tryonFluxFillRedux from "./built-in/tryon_flux_fill_redux/workflow.json" with { type: "json" };
import tryonQwenEdit2511Graph from "./built-in/tryon_qwen_edit_2511/graph.json" with { type: "json" };
import tryonQwenEdit2511 from "./built-in/tryon_qwen_edit_2511/workflow.json" with { type: "json" };
import tryonQwenImage21Graph from "./built-in/tryon_qwen_image_2_1/graph.json" with { type: "json" };
import tryonQwenImage21 from "./built-in/tryon_qwen_image_2_1/workflow.json" with { type: "json" };
import upscaleHiresFixGraph from "./built-in/upscale_hires_fix/graph.json" with { type: "json" };
import upscaleHiresFix from "./built-in/upscale_hires_fix/workflow.json" with { type: "json" };
import upscaleModelGraph from "./built-in/upscale_model/graph.json" with { type: "json" };
import upscaleModel from "./built-in/upscale_model/workflow.json" with { type: "json" };
import upscaleSeedvr23bGraph from "./built-in/upscale_seedvr2_3b/graph.json" with { type: "json" };
import upscaleSeedvr23b from "./built-in/upscale_seedvr2_3b/workflow.json" with { type: "json" };
import { parseWorkflow } from "./parse.ts";
import type { Workflow } from "./workflow.ts";

// Imported one by one, because a bundler cannot follow computed paths.
const sources: readonly (readonly [name: string, manifest: unknown, graph: unknown])[] = [
  ["cpu_composite_no_model", cpuCompositeNoModel, cpuCompositeNoModelGraph],
  ["cutout_birefnet", cutoutBirefnet, cutoutBirefnetGraph],
  ["edit_flux2_klein_4b", editFlux2Klein4b, editFlux2Klein4bGraph],
  ["edit_flux2_two_refs", editFlux2TwoRefs, editFlux2TwoRefsGraph],
  ["edit_flux_kontext_stitched", editFluxKontextStitched, editFluxKontextStitchedGraph],
  ["edit_qwen_2511", editQwen2511, editQwen2511Graph],
  ["edit_qwen_image_2_1", editQwenImage21, editQwenImage21Graph],
  ["expand_flux2_klein_4b", expandFlux2Klein4b, expandFlux2Klein4bGraph],
  ["expand_flux_fill", expandFluxFill, expandFluxFillGraph],
  ["inpaint_any_differential", inpaintAnyDifferential, inpaintAnyDifferentialGraph],
  ["inpaint_flux_fill", inpaintFluxFill, inpaintFluxFillGraph],
  ["inpaint_sd_vaeencodeforinpaint", inpaintSdVaeencodeforinpaint, inpaintSdVaeencodeforinpaintGraph],
  ["select_box_sam3", selectBoxSam3, selectBoxSam3Graph],
  ["select_click_sam3", selectClickSam3, selectClickSam3Graph],
  ["select_text_sam3", selectTextSam3, selectTextSam3Graph],
  ["t2i_checkpoint", t2iCheckpoint, t2iCheckpointGraph],
  ["t2i_flux1_checkpoint_fp8", t2iFlux1CheckpointFp8, t2iFlux1CheckpointFp8Graph],
  ["t2i_flux1_split", t2iFlux1Split, t2iFlux1SplitGraph],
  ["t2i_flux1_style", t2iFlux1Style, t2iFlux1StyleGraph],
  ["t2i_flux2_dev", t2iFlux2Dev, t2iFlux2DevGraph],
  ["t2i_flux2_klein_4b", t2iFlux2Klein4b, t2iFlux2Klein4bGraph],
  ["t2i_qwen_image", t2iQwenImage, t2iQwenImageGraph],
  ["t2i_sd15", t2iSd15, t2iSd15Graph],
  ["t2i_sdxl", t2iSdxl, t2iSdxlGraph],
  ["t2i_z_image_turbo", t2iZImageTurbo, t2iZImageTurboGraph],
  ["t2i_z_image_turbo_structure", t2iZImageTurboStructure, t2iZImageTurboStructureGraph],
  ["tryon_flux2_klein_4b", tryonFlux2Klein4b, tryonFlux2Klein4bGraph],
  ["tryon_flux2_klein_4b_lora", tryonFlux2Klein4bLora, tryonFlux2Klein4bLoraGraph],
  ["tryon_flux_fill_redux", tryonFluxFillRedux, tryonFluxFillReduxGraph],
  ["tryon_qwen_edit_2511", tryonQwenEdit2511, tryonQwenEdit2511Graph],
  ["tryon_qwen_image_2_1", tryonQwenImage21, tryonQwenImage21Graph],
  ["upscale_hires_fix", upscaleHiresFix, upscaleHiresFixGraph],
  ["upscale_model", upscaleModel, upscaleModelGraph],
  ["upscale_seedvr2_3b", upscaleSeedvr23b, upscaleSeedvr23bGraph],
];

/** Names of the workflows that ship with the product. */
export const builtInNames: ReadonlySet<string> = new Set(sources.map(([name]) => name));

let parsed: readonly Workflow[] | undefined;

/**
 * The workflows that ship with the product, parsed at the first call: most processes start without the need of any, and to parse
 * all took a fifth of the time in which a worker loads.
 */
export function builtInWorkflows(): readonly Workflow[] {
  parsed ??= sources.map(([name, manifest, graph]) =>
    parseWorkflow({ name, manifest, graph, isBuiltIn: true }),
  );
  return parsed;
}
