/** The module that a user names as `definitions.entry`; what it exports is checked when it is read. */
declare module 'taskq-definitions'
