/* A libnvidia-ml.so.1 with one GPU that never changes, for tests without a driver.
 *
 * Signatures and numbers are those of nvml.h. The processes on the GPU are read from the file that
 * STAND_IN_PROCESSES names, a pid and its bytes a line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1024ULL * 1024)

enum { SUCCESS = 0, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7 };

typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned int gpu, memory; } Utilisation;
typedef struct {
    unsigned int pid;
    unsigned long long used;
    unsigned int gpu_instance, compute_instance;
} Process;

int nvmlInitWithFlags(unsigned int flags) { return SUCCESS; }
int nvmlInit_v2(void) { return SUCCESS; }
int nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(int code) { return "told by the stand-in"; }

int nvmlSystemGetDriverVersion(char *text, unsigned int size) {
    snprintf(text, size, "999.01");
    return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned int *count) { *count = 1; return SUCCESS; }

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device) {
    *device = (void *)1;
    return SUCCESS;
}

int nvmlDeviceGetName(void *device, char *text, unsigned int size) {
    snprintf(text, size, "NVIDIA Stand-in");
    return SUCCESS;
}

int nvmlDeviceGetUUID(void *device, char *text, unsigned int size) {
    snprintf(text, size, "GPU-00000000-0000-0000-0000-000000000001");
    return SUCCESS;
}

int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) {
    *major = 9;
    *minor = 0;
    return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(void *device, Memory *memory) {
    memory->total = 8192 * MIB;
    memory->used = 2048 * MIB;
    memory->free = memory->total - memory->used;
    return SUCCESS;
}

int nvmlDeviceGetMaxClockInfo(void *device, int kind, unsigned int *mhz) {
    *mhz = 1800;
    return kind == 1 ? SUCCESS : NOT_SUPPORTED;
}

int nvmlDeviceGetClockInfo(void *device, int kind, unsigned int *mhz) {
    *mhz = 900;
    return kind == 1 ? SUCCESS : NOT_SUPPORTED;
}

int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned int *milliwatts) {
    *milliwatts = 300000;
    return SUCCESS;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned int *milliwatts) {
    *milliwatts = 120500;
    return SUCCESS;
}

int nvmlDeviceGetUtilizationRates(void *device, Utilisation *rates) {
    rates->gpu = 37;
    rates->memory = 11;
    return SUCCESS;
}

/* As of GPUs that do not tell: the gauge has no rows then. */
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned int *celsius) { return NOT_SUPPORTED; }

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons) {
    *reasons = 0x4;
    return SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned int *count, Process *processes) {
    const char *path = getenv("STAND_IN_PROCESSES");
    FILE *file = path ? fopen(path, "r") : NULL;
    unsigned int found = 0, room = processes ? *count : 0, pid;
    unsigned long long used;
    while (file && fscanf(file, "%u %llu", &pid, &used) == 2) {
        if (found < room) {
            memset(&processes[found], 0, sizeof(Process));
            processes[found].pid = pid;
            processes[found].used = used;
        }
        found++;
    }
    if (file) fclose(file);
    *count = found;
    return found > room ? INSUFFICIENT_SIZE : SUCCESS;
}
