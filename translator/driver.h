// The driver's own parts: the command line as data, the host compiler, child processes.
//
// aecc behaves as cc does, and leaves to cc whatever it can. A command line without an Aesop source is handed over as it is
// (exec: aecc is gone from then on). An Aesop source goes through three steps: the host's preprocessor, the translator, the
// host's compiler, which reads the emitted C from an unnamed file. What remains is one call of the host compiler, in which each
// Aesop source has been replaced by its object, so that the order of inputs and libraries stays the user's.
#pragma once
#include <string>
#include <vector>

namespace aecc {

// --- the command line (driver_options.cpp) ---------------------------------------------------------------------------------

enum class Mode { Link, Object, Assembly, Preprocess, Depend, SyntaxOnly, EmitC };

enum class Language {
    Aesop,       // to be preprocessed and translated
    AesopOutput, // preprocessed already (*.aei, -x aesop-cpp-output): to be translated
    Other,       // the host compiler's, by its name or by -x
};

// Which of the host compiler's steps wants an argument.
enum Step : unsigned { ToPreprocess = 1, ToCompile = 2, ToLink = 4, ToAll = 7, OnlyWithE = 8, OurOwn = 16 };

struct Argument {
    std::vector<std::string> words; // as given: "-I", "dir" or "-Idir"
    unsigned steps = ToAll;
    bool isInput = false;    // words[0] is a file or "-"
    bool isLanguage = false; // -x
    Language language = Language::Other;
    std::string explicitLanguage; // of an input: what the last -x said; empty for none
};

struct WarningOptions {
    std::vector<std::string> disabled; // "aesop-..." from -Wno-aesop-...; "aesop" for all of them
    std::vector<std::string> errors;   // from -Werror=aesop-...
    std::vector<std::string> notErrors;
    bool none = false;      // -w
    bool allErrors = false; // -Werror
    unsigned frameSize = 0; // -Waesop-frame-size=BYTES
};

struct Options {
    std::vector<std::string> given;  // the command line, response files not expanded
    std::vector<Argument> arguments; // in order, response files expanded
    Mode mode = Mode::Link;
    std::string output;   // -o
    std::string compiler; // --cc=
    bool hasResponseFile = false, hasOwn = false;
    bool help = false, version = false, verbose = false, dryRun = false;

    bool optimize = false;
    std::string standard = "gnu17";
    std::string target; // --target=, or implied by -m32
    WarningOptions warnings;
    bool fallthroughWarned = false; // -Wextra or -Wimplicit-fallthrough
    int colour = -1;                // 1 always, 0 never, -1 when stderr is a terminal
    unsigned errorLimit = 0;        // 0: none

    bool makeDepend = false;                // -MD, -MMD
    bool dependSystem = true;               // -MD, not -MMD
    bool dependPhony = false;               // -MP
    std::vector<std::string> dependTargets; // -MT and -MQ with their values, in order
    std::string dependFile;                 // -MF

    bool saveTemps = false, saveTempsBesideOutput = false;
    bool auxiliaryOutputs = false; // an option makes the compiler write further files, named after the source
    bool noRuntime = false;        // -nostdlib, -nodefaultlibs, -shared, -r: do not add our libraries
    bool exportsSymbols = false;   // -rdynamic and its like: a dlopen'ed library may want any part of the runtime

    bool hasAesop() const;
    unsigned inputs() const;
};

// Returns false after it has said what is wrong.
bool parseCommandLine(int argc, char **argv, Options &options);

// --- child processes, signals, files (driver_process.cpp) ------------------------------------------------------------------

void catchSignals();
// Ends the program by the signal that was caught, if any; nothing is left behind.
void dieIfInterrupted();
// Removes what the program must not leave behind. main() calls it on each way out.
void cleanUp();
// The folder for temporary files, made at the first call. Empty after an error, which has been reported.
const std::string &temporaryFolder();

struct Run {
    std::vector<std::string> command;
    int input = -1;                // becomes the standard input
    std::string *output = nullptr; // collects the standard output
    bool quiet = false;            // drop the standard error
    int errors = -1;               // becomes the standard error
};
// Returns the exit status; says so and returns 1 when the program could not be started or was killed.
int run(const Run &what);
// Runs the function in a child process, so that a crash in it is only the child's. What it returns comes back in `answer`.
// Returns a wait status.
int runGuarded(std::string (*function)(const void *argument), const void *argument, std::string &answer);
[[noreturn]] void handOver(const std::vector<std::string> &command);

// An unnamed file that holds the text, at its beginning; closed with this object.
class MemoryFile {
  public:
    explicit MemoryFile(const std::string &text = {});
    ~MemoryFile();
    MemoryFile(const MemoryFile &) = delete;
    MemoryFile &operator=(const MemoryFile &) = delete;
    int descriptor() const { return fd; }
    std::string path() const; // by which a child process can open it
    std::string read() const;

  private:
    int fd = -1;
};

bool readFile(const std::string &path, std::string &text);
// Replaces the file at once when it is complete, as far as the file system allows; "-" is the standard output. Says what went wrong.
bool writeFile(const std::string &path, const std::string &text);
bool fileMentions(const std::string &path, const std::vector<std::string> &words);

std::string joined(const std::vector<std::string> &command); // as a shell would take it
void complain(const char *kind, const std::string &message); // "aecc: error: message"

// --- the host compiler (driver_host.cpp) -------------------------------------------------------------------------------------

enum class HostKind { Gcc, Clang, Tcc };

struct Host {
    std::vector<std::string> command; // the program and arguments that always go with it
    HostKind kind = HostKind::Gcc;
    std::string path;                // of the program, links resolved
    std::string includes, libraries; // ours: aesop.h and libaesop.a

    std::string triple(const Options &options) const;
};

// Returns false after it has said what is wrong.
bool findHost(const Options &options, Host &host);
// The libraries to add to a link of these files, or nothing when none of them mentions the runtime.
std::vector<std::string> runtimeLibraries(const Options &options, const Host &host, const std::vector<std::string> &objects);

// --- the work (driver_compile.cpp) --------------------------------------------------------------------------------------------

int compileAndLink(const Options &options, const Host &host);

std::string baseName(const std::string &path);
std::string withSuffix(const std::string &path, const std::string &suffix); // replaces the last one of the file's name

} // namespace aecc
