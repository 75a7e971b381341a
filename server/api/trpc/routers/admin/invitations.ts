import { z } from "zod";
import {
  createInvitation,
  invitationDays,
  listInvitations,
  revokeInvitation,
} from "../../../../accounts/index.ts";
import { t } from "../../init.ts";
import { adminAction, adminProcedure } from "../../procedures.ts";

const days = z.number().int().min(invitationDays.min).max(invitationDays.max).default(invitationDays.default);

export const adminInvitationsRouter = t.router({
  /** Open invitations, and whether sign-up takes them. */
  list: adminProcedure.query(async ({ ctx }) => ({
    signUp: ctx.services.env.SIGN_UP,
    items: await listInvitations(ctx.services),
  })),
  /** The answer's `token` is shown this once. */
  create: adminAction
    .input(z.strictObject({ days }))
    .mutation(({ ctx, input }) =>
      createInvitation(ctx.services, { createdBy: ctx.caller.userId, days: input.days }),
    ),
  revoke: adminAction.input(z.strictObject({ id: z.uuid() })).mutation(async ({ ctx, input }) => {
    await revokeInvitation(ctx.services, input);
    return { id: input.id };
  }),
});
