"use client";
import { useEffect, useRef } from "react";
import type { ImageView } from "@atelier/server/images";
import { neutral } from "@atelier/server/retouch";
import { AdjustLayer } from "../adjust/preview-layer.tsx";
import { CropStage } from "../crop/crop-stage.tsx";
import { noCrop } from "../crop/frame.ts";
import { ExpandStage } from "../expand/expand-stage.tsx";
import { noExpansion } from "../expand/frame.ts";
import { emptyHistory } from "../mask/marks.ts";
import type { EditorSession } from "../session.ts";
import { EditStage } from "../stage.tsx";
import type { Look } from "../stage-input.ts";
import type { Selections } from "../tools/select.tsx";
import { GroundLayer } from "./ground-choice.tsx";
import { type ModeSession, takesMarks } from "./mode-state.ts";
import { RestoreLayer } from "./restore.tsx";

interface ModeStageProps {
  readonly image: ImageView;
  readonly session: EditorSession;
  readonly selection: Selections | null;
  readonly modes: ModeSession;
  /** Remembers the view. */
  readonly look: Look;
  /** The version that the edit began with. */
  readonly originalId: string;
}

/** The stage as the chosen mode needs it: with the frame of a crop, adjusted, or to mark something on. */
export function ModeStage({ image, session, selection, modes, look, originalId }: ModeStageProps) {
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
  if (takesMarks(mode))
    return (
      <EditStage image={image} session={session} selection={selection} look={look} originalId={originalId}>
        {() =>
          mode === "restore" ? (
            <RestoreLayer image={image} marks={session.history.marks} from={settings.restore.from} />
          ) : null
        }
      </EditStage>
    );
  const still = { ...session, tool: "pan", history: emptyHistory } as const;
  if (mode === "adjust")
    return (
      <EditStage image={image} session={still} look={look}>
        {({ view, size }) => (
          <AdjustLayer image={image} adjustments={settings.adjust} view={view} stage={size} />
        )}
      </EditStage>
    );
  return (
    <EditStage image={image} session={still} look={look} originalId={originalId}>
      {() => (mode === "background" ? <GroundLayer settings={settings.background} /> : null)}
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
