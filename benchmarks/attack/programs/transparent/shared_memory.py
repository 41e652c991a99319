"""Share an array between processes, and unlink it."""

from multiprocessing import Process, shared_memory

from busy import work


def fill(name):
    block = shared_memory.SharedMemory(name)
    for index in range(len(block.buf)):
        block.buf[index] = index % 256
    work(0.05)
    block.close()


if __name__ == "__main__":
    block = shared_memory.SharedMemory(create=True, size=4096)
    child = Process(target=fill, args=(block.name,))
    child.start()
    child.join()
    print(child.exitcode, sum(block.buf))
    block.close()
    block.unlink()
