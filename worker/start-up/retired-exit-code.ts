/** A worker that an admin retired ends with this code: its supervisor does not start it again. */
export const retiredExitCode = 20;
