"use client";
import { useEffect, useRef } from "react";
import type { ImageView } from "@atelier/server/images";
import { neutral } from "@atelier/server/retouch";
import { isTyping } from "../../frame/run-button.tsx";
import { AdjustLayer } from "../adjust/preview-layer.tsx";
import { CropStage } from "../crop/crop-stage.tsx";
import { noCrop } from "../crop/frame.ts";
import { ExpandStage } from "../expand/expand-stage.tsx";
import { noExpansion } from "../expand/frame.ts";
import { emptyHistory } from "../mask.ts";
import type { ClickSelection } from "../select-by-click.tsx";
import type { EditorSession } from "../session.ts";
import { EditStage } from "../stage.tsx";
import type { Look } from "../stage-input.ts";
import type { ModeSession } from "./mode-state.ts";
import { RestoreLayer } from "./restore.tsx";

interface ModeStageProps {
  readonly image: ImageView;
  readonly session: EditorSession;
  readonly selection: ClickSelection | null;
  readonly modes: ModeSession;
  /** Remembers the view. */
  readonly look: Look;
}

/** The stage as the chosen mode needs it: with the frame of a crop, adjusted, or to mark something on. */
export function ModeStage({ image, session, selection, modes, look }: ModeStageProps) {
  const { mode, settings } = modes.state;
  if (mode === "crop")
    return (
      <CropStage
        image={image}
        given={settings.crop}
        onChange={(next, isBegun) => modes.step("crop", next, isBegun)}
      />
    );
  if (mode === "expand")
    return (
      <ExpandStage
        image={image}
        given={settings.expand}
        onChange={(next, isBegun) => modes.step("expand", next, isBegun)}
      />
    );
  if (mode === "restore")
    return (
      <EditStage image={image} session={session} selection={selection} look={look}>
        {() => <RestoreLayer image={image} marks={session.history.marks} from={settings.restore.from} />}
      </EditStage>
    );
  if (mode !== "adjust")
    return <EditStage image={image} session={session} selection={selection} look={look} />;
  const still = { ...session, brush: { ...session.brush, tool: "pan" }, history: emptyHistory } as const;
  return (
    <EditStage image={image} session={still} look={look}>
      {({ view, size }) => (
        <AdjustLayer image={image} adjustments={settings.adjust} view={view} stage={size} />
      )}
    </EditStage>
  );
}

/** Adjustments and frames belong to the version on the stage; those of a remix come after the first one. */
export function useNewBeginning({ change, forget }: ModeSession, versionId: string): void {
  const shownId = useRef(versionId);
  useEffect(() => {
    if (shownId.current !== versionId) {
      change("adjust", neutral);
      change("crop", noCrop);
      change("expand", noExpansion);
      forget();
    }
    shownId.current = versionId;
  }, [change, forget, versionId]);
}

/** Keys that choose a mode together with what it is worked with. */
export function useModeKeys({ choose }: ModeSession, { setTool }: EditorSession): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "c") choose("crop");
      if (event.key === "r") {
        choose("restore");
        setTool("brush");
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [choose, setTool]);
}
